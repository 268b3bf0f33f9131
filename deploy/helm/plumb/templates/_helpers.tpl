{{/* Names and labels are those of upstream's chart 0.11.0: releases switch in place. */}}
{{- define "plumb.name" -}}
{{- include "plumb.ownDefaults" . }}
{{- default "vertical-pod-autoscaler" .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "plumb.fullname" -}}
{{- $name := include "plumb.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Name of a Service, or of a Job, which becomes the value of a label, of 63 characters at most: (list $ "recommender"). */}}
{{- define "plumb.shortName" -}}
{{- $ := index . 0 }}{{ $ending := printf "-%s" (index . 1) -}}
{{- include "plumb.fullname" $ | trunc (sub 63 (len $ending) | int) | trimSuffix "-" }}{{ $ending }}
{{- end }}

{{/* Labels of an object of a component: (list $ "recommender"). */}}
{{- define "plumb.labels" -}}
{{- $ := index . 0 }}{{ $component := index . 1 -}}
helm.sh/chart: {{ printf "%s-%s" $.Chart.Name $.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "plumb.selector" . }}
app.kubernetes.io/version: {{ $.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $.Release.Service }}
app.kubernetes.io/component-instance: {{ printf "%s-%s" $.Release.Name $component | trunc 63 | trimSuffix "-" }}
{{- with $.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "plumb.selector" -}}
{{- $ := index . 0 -}}
app.kubernetes.io/name: {{ include "plumb.name" $ }}
app.kubernetes.io/instance: {{ $.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* Values of a component. */}}
{{- define "plumb.values" -}}
{{- $ := index . 0 }}{{ $component := index . 1 -}}
{{- index $.Values (eq $component "admission-controller" | ternary "admissionController" $component) | toYaml }}
{{- end }}

{{/* A repository whose first part is a host (it has a dot or a colon, or is localhost) is taken as it stands. */}}
{{- define "plumb.image" -}}
{{- $ := index . 0 }}{{ $image := index . 1 -}}
{{- $first := splitList "/" $image.repository | first }}
{{- $whole := and (contains "/" $image.repository) (or (contains "." $first) (contains ":" $first) (eq $first "localhost")) }}
{{- $registry := $image.registry | default $.Values.imageRegistry | default "" }}
{{- $name := or $whole (empty $registry) | ternary $image.repository (printf "%s/%s" ($registry | trimSuffix "/") $image.repository) }}
{{- if $image.digest }}{{ $name }}@{{ $image.digest }}{{ else }}{{ $name }}:{{ $image.tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Not empty when the component elects a leader: leaderElection.enabled, unset: with more than one replica. */}}
{{- define "plumb.elects" -}}
{{- $values := . }}
{{- with $values.leaderElection }}
{{- if kindIs "invalid" .enabled | ternary (gt ($values.replicas | default 0 | int) 1) .enabled }}yes{{ end }}
{{- end }}
{{- end }}

{{/* Not empty when another way to a certificate than the next two is chosen. */}}
{{- define "plumb.otherCertificate" -}}
{{- $admission := .Values.admissionController }}
{{- if or $admission.certManager.enabled $admission.tls.create (not (kindIs "invalid" $admission.certGen.enabled)) }}yes{{ end }}
{{- end }}

{{/* Not empty when the daemon makes its certificate: chosen, or nothing else is. With failurePolicy Fail only when chosen: no pod could
be created, the daemon's own neither, before it has written its CA. */}}
{{- define "plumb.managed" -}}
{{- $admission := .Values.admissionController }}
{{- $else := or (include "plumb.otherCertificate" .) $admission.tls.generate (eq $admission.mutatingWebhookConfiguration.failurePolicy "Fail") }}
{{- if and $admission.enabled (kindIs "invalid" $admission.managedCertificates | ternary (not $else) $admission.managedCertificates) }}yes{{ end }}
{{- end }}

{{/* Not empty when Helm makes the certificate: chosen, or nothing else is. */}}
{{- define "plumb.makesCertificate" -}}
{{- $admission := .Values.admissionController }}
{{- $else := or (include "plumb.otherCertificate" .) (include "plumb.managed" .) }}
{{- if and $admission.enabled (kindIs "invalid" $admission.tls.generate | ternary (not $else) $admission.tls.generate) }}yes{{ end }}
{{- end }}

{{/* What extraArgs say for a flag, else the last of (list . "updater" "admission-controller-status-lease-name" "default"), which also stands in
for an empty value: roles and objects have the names that a daemon is told. As the daemons read them: `--flag=value`, `--flag` `value`, `_` for
`-`, the last one counts, and nothing is read after `--`. With a fifth element, "switch", the flag alone is "true". */}}
{{- define "plumb.flag" -}}
{{- $isSwitch := has "switch" . }}{{ $ := index . 0 }}{{ $flag := index . 2 }}{{ $found := "" }}{{ $isNext := false }}{{ $isOver := false }}
{{- range (include "plumb.values" (list $ (index . 1)) | fromYaml).extraArgs | default list }}
{{- $word := toString . }}
{{- if $isOver }}
{{- else if $isNext }}{{ $found = $word }}{{ $isNext = false }}
{{- else if eq $word "--" }}{{ $isOver = true }}
{{- else if regexMatch (printf "^--%s(=|$)" $flag) (regexReplaceAll "=.*" $word "=" | replace "_" "-") }}{{ $isNext = not (or $isSwitch (contains "=" $word)) }}
{{- if not $isNext }}{{ $found = contains "=" $word | ternary (splitList "=" $word | rest | join "=") "true" }}{{ end }}
{{- end }}
{{- end }}
{{- $found | default (index . 3) | toString | replace "$(NAMESPACE)" $.Release.Namespace }}
{{- end }}

{{/* The port in what plumb.flag says, of the same list. */}}
{{- define "plumb.port" -}}
{{- $said := include "plumb.flag" . }}{{ $port := regexFind "(^|:)[0-9]+$" $said | trimPrefix ":" }}
{{- if not $port }}
{{- fail (printf "%s: --%s=%s of extraArgs names no port that can be read (quotes within an argument are part of it)" (index . 1) (index . 2) $said) }}
{{- end }}
{{- $port }}
{{- end }}

{{/* Name of the webhook object: that of the release, else the daemon's preset. With managed certificates it is not that of upstream's chart: the object under that name holds
the CA that the chart's Job wrote, and no Job writes it again on a rollback. See webhook.yaml. */}}
{{- define "plumb.webhookName" -}}
{{- $name := printf "%s-%s" (include "plumb.fullname" .) (include "plumb.managed" . | empty | ternary "webhook-config" "managed-webhook-config") }}
{{- include "plumb.flag" (list . "admission-controller" "webhook-config-name" (include "plumb.ownsWebhook" . | empty | ternary "vpa-webhook-config" $name)) }}
{{- end }}

{{/* Not empty when Helm owns the webhook object; the daemon owns it with registerWebhook. */}}
{{- define "plumb.ownsWebhook" -}}
{{- $admission := .Values.admissionController }}
{{- $given := and $admission.tls.create (kindIs "invalid" $admission.certGen.enabled) }}
{{- $chosen := or $admission.certGen.enabled $admission.certManager.enabled $given (include "plumb.managed" .) (include "plumb.makesCertificate" .) }}
{{- if and $admission.enabled $chosen (not $admission.registerWebhook) }}yes{{ end }}
{{- end }}

{{/* The failurePolicy of what is registered for our Service beside Helm's: by a daemon that did so itself, whose CA nobody renews any more, or by
somebody else. Who may not read such objects may install what registers none. */}}
{{- define "plumb.leftBehind" -}}
{{- $service := dict "name" .Values.admissionController.service.name "namespace" .Release.Namespace }}
{{- if and (include "plumb.ownsWebhook" .) (ne (include "plumb.webhookName" .) "vpa-webhook-config") }}
{{- $live := lookup "admissionregistration.k8s.io/v1" "MutatingWebhookConfiguration" "" "vpa-webhook-config" | default dict }}
{{- if not (dig "metadata" "annotations" "meta.helm.sh/release-name" "" $live) }}
{{- range get $live "webhooks" | default list }}
{{- if eq (dig "clientConfig" "service" "name" "" .) $service.name }}
{{- if eq (dig "clientConfig" "service" "namespace" "" .) $service.namespace }}{{ .failurePolicy | default "Fail" }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Asked by every name, because nobody knows which template Helm renders first. */}}
{{- define "plumb.ownDefaults" -}}
{{- if ne (.Values.defaultsOf | default "" | toString) "plumb" }}
{{- fail (printf "\n\nHelm was told to keep the defaults of the chart installed before (--reuse-values), its images included.\nKeep only your own values:\n\n    helm upgrade %s CHART --namespace %s --reset-then-reuse-values      (Helm 3.14 or later)\n" .Release.Name .Release.Namespace) }}
{{- end }}
{{- end }}
