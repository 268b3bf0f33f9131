{{/* The ServiceAccount, the Deployment and the PodDisruptionBudget of a component:
     (dict "root" $ "component" "updater" "values" .Values.updater "port" 8943 "args" (list ...)). */}}
{{- define "plumb.component" -}}
{{- $root := .root }}{{ $component := .component }}{{ $values := .values }}
{{- $name := printf "%s-%s" (include "plumb.fullname" $root) $component }}
{{- $labels := include "plumb.labels" (list $root $component) }}
{{- if $values.serviceAccount.create }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
    {{- with $values.serviceAccount.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- if $values.enabled }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
  {{- with $values.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with $root.Values.shadow | ternary 1 $values.replicas }}
  replicas: {{ . }}
  {{- end }}
  revisionHistoryLimit: {{ $values.revisionHistoryLimit }}
  {{- with $values.updateStrategy }}
  strategy:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "plumb.selector" (list $root $component) | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "plumb.selector" (list $root $component) | nindent 8 }}
        {{- with $values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "plumb.pod" . | nindent 6 }}
{{- end }}
{{- with $values.podDisruptionBudget }}
{{- if and .enabled (not $root.Values.shadow) }}
{{- if and .minAvailable .maxUnavailable }}
{{- fail (printf "podDisruptionBudget of the %s: minAvailable and maxUnavailable exclude each other; set minAvailable to null" $component) }}
{{- end }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace | quote }}
  labels:
    {{- $labels | nindent 4 }}
spec:
  selector:
    matchLabels:
      {{- include "plumb.selector" (list $root $component) | nindent 6 }}
  {{- with .minAvailable }}
  minAvailable: {{ . }}
  {{- end }}
  {{- with .maxUnavailable }}
  maxUnavailable: {{ . }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* The pod of a component. */}}
{{- define "plumb.pod" -}}
{{- $root := .root }}{{ $component := .component }}{{ $values := .values -}}
serviceAccountName: {{ include "plumb.fullname" $root }}-{{ $component }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if $values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: {{ $component }}
    image: {{ include "plumb.image" (list $root $values.image) | quote }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args:
      {{- toYaml (concat (list "--v=4" "--stderrthreshold=info") .args ($values.extraArgs | default list)) | nindent 6 }}
    env:
      - name: NAMESPACE
        valueFrom:
          fieldRef:
            fieldPath: metadata.namespace
      {{- with $values.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    ports:
      {{- if eq $component "admission-controller" }}
      - containerPort: {{ include "plumb.port" (list $root $component "port" 8000) }}
      {{- end }}
      - name: prometheus
        containerPort: {{ include "plumb.port" (list $root $component "address" (printf ":%v" .port)) }}
      {{- with .ports }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    livenessProbe:
      httpGet:
        path: /health-check
        port: prometheus
        scheme: HTTP
      initialDelaySeconds: 5
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    readinessProbe:
      httpGet:
        path: /readyz
        port: prometheus
        scheme: HTTP
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 3
    resources:
      {{- $values.resources | default (dict "requests" (dict "cpu" "10m" "memory" "32Mi") "limits" (dict "cpu" "500m" "memory" "256Mi")) | toYaml | nindent 6 }}
    {{- with $root.Values.containerSecurityContext }}
    securityContext:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .mounts }}
    volumeMounts:
      {{- toYaml . | nindent 6 }}
    {{- end }}
{{- with .volumes }}
volumes:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Flags of leader election, or of the shadow, which elects nobody, a JSON list. (dict "root" $ "values" .Values.updater) */}}
{{- define "plumb.election" -}}
{{- $args := list }}
{{- if .root.Values.shadow }}{{ $args = list "--shadow" }}
{{- else if include "plumb.elects" .values }}
{{- $namespace := .values.leaderElection.resourceNamespace | default .root.Release.Namespace }}
{{- with .values.leaderElection }}
{{- $args = list "--leader-elect=true" (printf "--leader-elect-resource-namespace=%s" $namespace)
        (printf "--leader-elect-resource-name=%s" .resourceName)
        (printf "--leader-elect-lease-duration=%s" .leaseDuration) (printf "--leader-elect-renew-deadline=%s" .renewDeadline)
        (printf "--leader-elect-retry-period=%s" .retryPeriod) }}
{{- end }}
{{- if not .root.Values.warmStandby }}{{ $args = append $args "--standby=false" }}{{ end }}
{{- end }}
{{- toJson $args }}
{{- end }}
