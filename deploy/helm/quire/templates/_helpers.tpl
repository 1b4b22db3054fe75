{{- define "quire.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{- define "quire.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "quire.labels" -}}
{{ include "quire.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "quire.serviceAccountName" -}}
{{- default (ternary (include "quire.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name }}
{{- end }}

{{- define "quire.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "quire.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "quire.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Projected volume with one file per secret. Arguments: secrets by the name of their variable. */}}
{{- define "quire.secretsVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $variable, $secret := . }}
      - secret:
          name: {{ $secret.name }}
          items: [{ key: {{ $secret.key | quote }}, path: {{ $variable }} }]
      {{- end }}
{{- end }}

{{- define "quire.dataVolume" -}}
- name: data
  {{- if .Values.data.storageClassName }}
  ephemeral:
    volumeClaimTemplate:
      spec:
        accessModes: [ReadWriteOnce]
        storageClassName: {{ .Values.data.storageClassName }}
        resources: { requests: { storage: {{ .Values.data.sizeLimit }} } }
  {{- else }}
  emptyDir: { sizeLimit: {{ .Values.data.sizeLimit }} }
  {{- end }}
- name: tmp
  emptyDir: {}
{{- end }}

{{/* Pod of a role. Arguments: root, component, role (values), port, env (further variables by name). */}}
{{- define "quire.podTemplate" -}}
{{- $root := .root }}
{{- $values := $root.Values }}
metadata:
  labels:
    {{- include "quire.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
    {{- with .role.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A change of quire.yaml restarts the pods.
    checksum/config: {{ toYaml $values.config | sha256sum }}
    {{- with .role.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "quire.serviceAccountName" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .role.terminationGracePeriodSeconds }}
  securityContext:
    {{- include "quire.podSecurityContext" $root | nindent 4 }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .role.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
  {{- with index $.role $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: {{ include "quire.image" $root | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [{{ .component }}]
      securityContext:
        {{- include "quire.containerSecurityContext" $root | nindent 8 }}
      env:
        {{- range $name, $value := merge (dict) .env (dict "QUIRE_BLOBS_URL" $values.blobsUrl "QUIRE_INDEX_URL" $values.indexUrl) $values.env }}
        - name: {{ $name }}
          value: {{ $value | toString | quote }}
        {{- end }}
        {{- range $variable, $_ := $values.secretFiles }}
        - name: {{ $variable }}_FILE
          value: /run/secrets/quire/{{ $variable }}
        {{- end }}
        {{- range $variable, $secret := $values.secretEnv }}
        - name: {{ $variable }}
          valueFrom: { secretKeyRef: { name: {{ $secret.name }}, key: {{ $secret.key | quote }} } }
        {{- end }}
      ports:
        - { name: http, containerPort: {{ .port }}, protocol: TCP }
      # While the database starts or recovers, a process waits without a limit.
      startupProbe:
        {{- if eq .component "api" }}
        httpGet: { path: /healthz, port: http }
        {{- else }}
        httpGet: { path: /readyz, port: http }
        {{- end }}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 120
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      resources:
        {{- toYaml .role.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /var/lib/quire }
        - { name: tmp, mountPath: /tmp }
        - { name: config, mountPath: /etc/quire, readOnly: true }
        - { name: secrets, mountPath: /run/secrets/quire, readOnly: true }
        {{- if $values.modelCache.existingClaim }}
        - { name: models, mountPath: /models, readOnly: true }
        {{- end }}
  volumes:
    {{- include "quire.dataVolume" $root | nindent 4 }}
    {{- include "quire.secretsVolume" $values.secretFiles | nindent 4 }}
    - name: config
      configMap: { name: {{ include "quire.fullname" $root }} }
    {{- with $values.modelCache.existingClaim }}
    - name: models
      persistentVolumeClaim: { claimName: {{ . }}, readOnly: true }
    {{- end }}
{{- end }}

{{/* HorizontalPodAutoscaler. Arguments: root, component, role, metrics (YAML). */}}
{{- define "quire.hpa" -}}
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ include "quire.fullname" .root }}-{{ .component }}
  labels:
    {{- include "quire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: {{ include "quire.fullname" .root }}-{{ .component }}
  minReplicas: {{ .role.autoscaling.minReplicas }}
  maxReplicas: {{ .role.autoscaling.maxReplicas }}
  metrics:
    {{- with .role.autoscaling.cpuPercent }}
    - type: Resource
      resource: { name: cpu, target: { type: Utilization, averageUtilization: {{ . }} } }
    {{- end }}
    {{- .metrics | nindent 4 }}
  {{- with .role.autoscaling.behavior }}
  behavior:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* ScaledObject of KEDA. Arguments: root, component, role, triggers (YAML). */}}
{{- define "quire.scaledObject" -}}
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata:
  name: {{ include "quire.fullname" .root }}-{{ .component }}
  labels:
    {{- include "quire.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  scaleTargetRef:
    name: {{ include "quire.fullname" .root }}-{{ .component }}
  minReplicaCount: {{ .role.autoscaling.minReplicas }}
  maxReplicaCount: {{ .role.autoscaling.maxReplicas }}
  pollingInterval: {{ .root.Values.keda.pollingInterval }}
  cooldownPeriod: {{ .root.Values.keda.cooldownPeriod }}
  {{- with .role.autoscaling.behavior }}
  advanced:
    horizontalPodAutoscalerConfig:
      behavior:
        {{- toYaml . | nindent 8 }}
  {{- end }}
  triggers:
    {{- with .role.autoscaling.cpuPercent }}
    - type: cpu
      metricType: Utilization
      metadata: { value: {{ . | toString | quote }} }
    {{- end }}
    {{- .triggers | nindent 4 }}
{{- end }}

{{/* Trigger of KEDA. Arguments: root, metricType, threshold, query. */}}
{{- define "quire.prometheusTrigger" -}}
- type: prometheus
  metricType: {{ .metricType }}
  metadata:
    serverAddress: {{ .root.Values.keda.serverAddress }}
    threshold: {{ .threshold | toString | quote }}
    query: {{ .query | quote }}
{{- end }}
