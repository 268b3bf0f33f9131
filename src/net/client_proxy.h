/*
 * Which proxy the environment names for a URL: by the rules of Go's http.ProxyFromEnvironment, so
 * that a daemon takes the way that upstream's took. libcurl has rules of its own: it does not know
 * HTTP_PROXY, follows ALL_PROXY, reads NO_PROXY otherwise, and lets it count for every proxy.
 */
#ifndef NET_CLIENT_PROXY_H
#define NET_CLIENT_PROXY_H

/* HTTPS_PROXY or https_proxy for https, HTTP_PROXY or http_proxy for http; "" for none, or where
 * NO_PROXY or no_proxy has the host, or it is this machine. On the heap. */
char *client_proxy_of_environment(const char *url);
/* What libcurl is given: the caller's proxy, or where that is NULL the environment's. With
 * socks5:// libcurl looks the server's name up by itself; Go gives it to the proxy, which may be
 * the only one that knows it: socks5h:// says so. On the heap. */
char *client_proxy_to_use(const char *given, const char *url);

#endif
