{{/* A role and its binding to the component's ServiceAccount: (dict "root" "component" "kind" "name" "rules" "namespace" "unbound"). Bindings are
     named as upstream's chart names them. */}}
{{- define "plumb.role" -}}
{{- $labels := include "plumb.labels" (list .root .component) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ .namespace | quote }}
  {{- end }}
  labels:
    {{- $labels | nindent 4 }}
{{- if .rules }}
rules:
  {{- toYaml .rules | nindent 2 }}
{{- else }}
rules: []
{{- end }}
{{- if not .unbound }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}{{ if eq .component "updater" }}-binding{{ end }}
  {{- if eq .kind "Role" }}
  namespace: {{ .namespace | quote }}
  {{- end }}
  labels:
    {{- $labels | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "plumb.fullname" .root }}-{{ .component }}
    namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
{{- end }}
