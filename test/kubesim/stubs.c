#include "sim.h"
#include <string.h>
int handle_nonresource(struct ctx *c){ if(!strcmp(c->req->path,"/healthz")){answer_text(c,200,"ok");return 0;} return answer_404_text(c);}
int handle_proxy(struct ctx *c){(void)c;return 0;}
int admit_webhooks(struct ctx *c, bool mutate, const char *operation, const struct jv *old,
                   struct jv **object, const char *options_kind){(void)c;(void)mutate;(void)operation;(void)old;(void)object;(void)options_kind;return 0;}
void controllers_start(struct sim *sim){(void)sim;}
void controllers_stop(struct sim *sim){(void)sim;}
int generate(struct sim *sim, const char *spec, struct vpa_error *err){(void)sim;(void)spec;(void)err;return 0;}
int apply_patch(struct ctx *c, struct jv *live, struct jv *config, bool force, struct jv **out){(void)force; *out = merge_patch(c->a, live?live:jv_obj(c->a), config); return 0;}
void track_fields(struct ctx *c, const struct jv *old, struct jv *now, const char *sub){(void)c;(void)old;(void)now;(void)sub;}
