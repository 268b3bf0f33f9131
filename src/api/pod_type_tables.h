/*
 * The members of a Pod and all that is in it, in the order of the Go structures (core/v1, 1.36),
 * which is also the order in which API servers write them. Included by pod_types.c only.
 */
static const struct field name_value_fields[] = {
    {"name", STRING, NULL},
    {"value", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field name_ref_fields[] = {
    {"name", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field key_selector_fields[] = {
    {"name", STRING, NULL},
    {"key", STRING, NULL},
    {"optional", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field optional_ref_fields[] = {
    {"name", STRING, NULL},
    {"optional", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field expression_fields[] = {
    {"key", STRING, NULL},
    {"operator", STRING, NULL},
    {"values", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field label_selector_fields[] = {
    {"matchLabels", STRING_MAP, NULL},
    {"matchExpressions", LIST, expression_fields},
    {NULL, ANY, NULL},
};
static const struct field node_term_fields[] = {
    {"matchExpressions", LIST, expression_fields},
    {"matchFields", LIST, expression_fields},
    {NULL, ANY, NULL},
};
static const struct field node_selector_fields[] = {
    {"nodeSelectorTerms", LIST, node_term_fields},
    {NULL, ANY, NULL},
};
static const struct field preferred_node_fields[] = {
    {"weight", INT32, NULL},
    {"preference", OBJECT, node_term_fields},
    {NULL, ANY, NULL},
};
static const struct field node_affinity_fields[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", OBJECT, node_selector_fields},
    {"preferredDuringSchedulingIgnoredDuringExecution", LIST, preferred_node_fields},
    {NULL, ANY, NULL},
};
static const struct field pod_term_fields[] = {
    {"labelSelector", OBJECT, label_selector_fields},
    {"namespaces", STRINGS, NULL},
    {"topologyKey", STRING, NULL},
    {"namespaceSelector", OBJECT, label_selector_fields},
    {"matchLabelKeys", STRINGS, NULL},
    {"mismatchLabelKeys", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field preferred_pod_fields[] = {
    {"weight", INT32, NULL},
    {"podAffinityTerm", OBJECT, pod_term_fields},
    {NULL, ANY, NULL},
};
static const struct field pod_affinity_fields[] = {
    {"requiredDuringSchedulingIgnoredDuringExecution", LIST, pod_term_fields},
    {"preferredDuringSchedulingIgnoredDuringExecution", LIST, preferred_pod_fields},
    {NULL, ANY, NULL},
};
static const struct field affinity_fields[] = {
    {"nodeAffinity", OBJECT, node_affinity_fields},
    {"podAffinity", OBJECT, pod_affinity_fields},
    {"podAntiAffinity", OBJECT, pod_affinity_fields},
    {NULL, ANY, NULL},
};
static const struct field owner_fields[] = {
    {"apiVersion", STRING, NULL},
    {"kind", STRING, NULL},
    {"name", STRING, NULL},
    {"uid", STRING, NULL},
    {"controller", BOOL, NULL},
    {"blockOwnerDeletion", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field managed_fields_fields[] = {
    {"manager", STRING, NULL},     {"operation", STRING, NULL},
    {"apiVersion", STRING, NULL},  {"time", TIME, NULL},
    {"fieldsType", STRING, NULL},  {"fieldsV1", ANY, NULL},
    {"subresource", STRING, NULL}, {NULL, ANY, NULL},
};
static const struct field meta_fields[] = {
    {"name", STRING, NULL},
    {"generateName", STRING, NULL},
    {"namespace", STRING, NULL},
    {"selfLink", STRING, NULL},
    {"uid", STRING, NULL},
    {"resourceVersion", STRING, NULL},
    {"generation", INT64, NULL},
    {"creationTimestamp", TIME, NULL},
    {"deletionTimestamp", TIME, NULL},
    {"deletionGracePeriodSeconds", INT64, NULL},
    {"labels", STRING_MAP, NULL},
    {"annotations", STRING_MAP, NULL},
    {"ownerReferences", LIST, owner_fields},
    {"finalizers", STRINGS, NULL},
    {"managedFields", LIST, managed_fields_fields},
    {NULL, ANY, NULL},
};
static const struct field claim_fields[] = {
    {"name", STRING, NULL},
    {"request", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field resources_fields[] = {
    {"limits", QUANTITY_MAP, NULL},
    {"requests", QUANTITY_MAP, NULL},
    {"claims", LIST, claim_fields},
    {NULL, ANY, NULL},
};
static const struct field port_fields[] = {
    {"name", STRING, NULL},     {"hostPort", INT32, NULL}, {"containerPort", INT32, NULL},
    {"protocol", STRING, NULL}, {"hostIP", STRING, NULL},  {NULL, ANY, NULL},
};
static const struct field env_from_fields[] = {
    {"prefix", STRING, NULL},
    {"configMapRef", OBJECT, optional_ref_fields},
    {"secretRef", OBJECT, optional_ref_fields},
    {NULL, ANY, NULL},
};
static const struct field field_ref_fields[] = {
    {"apiVersion", STRING, NULL},
    {"fieldPath", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field resource_field_ref_fields[] = {
    {"containerName", STRING, NULL},
    {"resource", STRING, NULL},
    {"divisor", QUANTITY, NULL},
    {NULL, ANY, NULL},
};
static const struct field file_key_ref_fields[] = {
    {"volumeName", STRING, NULL}, {"path", STRING, NULL}, {"key", STRING, NULL},
    {"optional", BOOL, NULL},     {NULL, ANY, NULL},
};
static const struct field env_source_fields[] = {
    {"fieldRef", OBJECT, field_ref_fields},
    {"resourceFieldRef", OBJECT, resource_field_ref_fields},
    {"configMapKeyRef", OBJECT, key_selector_fields},
    {"secretKeyRef", OBJECT, key_selector_fields},
    {"fileKeyRef", OBJECT, file_key_ref_fields},
    {NULL, ANY, NULL},
};
static const struct field env_fields[] = {
    {"name", STRING, NULL},
    {"value", STRING, NULL},
    {"valueFrom", OBJECT, env_source_fields},
    {NULL, ANY, NULL},
};
static const struct field resize_policy_fields[] = {
    {"resourceName", STRING, NULL},
    {"restartPolicy", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field exit_codes_fields[] = {
    {"operator", STRING, NULL},
    {"values", INT32S, NULL},
    {NULL, ANY, NULL},
};
static const struct field restart_rule_fields[] = {
    {"action", STRING, NULL},
    {"exitCodes", OBJECT, exit_codes_fields},
    {NULL, ANY, NULL},
};
static const struct field volume_mount_fields[] = {
    {"name", STRING, NULL},        {"readOnly", BOOL, NULL},  {"recursiveReadOnly", STRING, NULL},
    {"mountPath", STRING, NULL},   {"subPath", STRING, NULL}, {"mountPropagation", STRING, NULL},
    {"subPathExpr", STRING, NULL}, {NULL, ANY, NULL},
};
static const struct field volume_device_fields[] = {
    {"name", STRING, NULL},
    {"devicePath", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field exec_fields[] = {
    {"command", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field http_get_fields[] = {
    {"path", STRING, NULL},
    {"port", INT_OR_STRING, NULL},
    {"host", STRING, NULL},
    {"scheme", STRING, NULL},
    {"httpHeaders", LIST, name_value_fields},
    {NULL, ANY, NULL},
};
static const struct field tcp_socket_fields[] = {
    {"port", INT_OR_STRING, NULL},
    {"host", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field grpc_fields[] = {
    {"port", INT32, NULL},
    {"service", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field probe_fields[] = {
    {"exec", OBJECT, exec_fields},
    {"httpGet", OBJECT, http_get_fields},
    {"tcpSocket", OBJECT, tcp_socket_fields},
    {"grpc", OBJECT, grpc_fields},
    {"initialDelaySeconds", INT32, NULL},
    {"timeoutSeconds", INT32, NULL},
    {"periodSeconds", INT32, NULL},
    {"successThreshold", INT32, NULL},
    {"failureThreshold", INT32, NULL},
    {"terminationGracePeriodSeconds", INT64, NULL},
    {NULL, ANY, NULL},
};
static const struct field sleep_fields[] = {
    {"seconds", INT64, NULL},
    {NULL, ANY, NULL},
};
static const struct field handler_fields[] = {
    {"exec", OBJECT, exec_fields},
    {"httpGet", OBJECT, http_get_fields},
    {"tcpSocket", OBJECT, tcp_socket_fields},
    {"sleep", OBJECT, sleep_fields},
    {NULL, ANY, NULL},
};
static const struct field lifecycle_fields[] = {
    {"postStart", OBJECT, handler_fields},
    {"preStop", OBJECT, handler_fields},
    {"stopSignal", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field capabilities_fields[] = {
    {"add", STRINGS, NULL},
    {"drop", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field se_linux_fields[] = {
    {"user", STRING, NULL},  {"role", STRING, NULL}, {"type", STRING, NULL},
    {"level", STRING, NULL}, {NULL, ANY, NULL},
};
static const struct field windows_fields[] = {
    {"gmsaCredentialSpecName", STRING, NULL},
    {"gmsaCredentialSpec", STRING, NULL},
    {"runAsUserName", STRING, NULL},
    {"hostProcess", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field profile_fields[] = {
    {"type", STRING, NULL},
    {"localhostProfile", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field security_fields[] = {
    {"capabilities", OBJECT, capabilities_fields},
    {"privileged", BOOL, NULL},
    {"seLinuxOptions", OBJECT, se_linux_fields},
    {"windowsOptions", OBJECT, windows_fields},
    {"runAsUser", INT64, NULL},
    {"runAsGroup", INT64, NULL},
    {"runAsNonRoot", BOOL, NULL},
    {"readOnlyRootFilesystem", BOOL, NULL},
    {"allowPrivilegeEscalation", BOOL, NULL},
    {"procMount", STRING, NULL},
    {"seccompProfile", OBJECT, profile_fields},
    {"appArmorProfile", OBJECT, profile_fields},
    {NULL, ANY, NULL},
};
static const struct field container_fields[] = {
    {"name", STRING, NULL},
    {"image", STRING, NULL},
    {"command", STRINGS, NULL},
    {"args", STRINGS, NULL},
    {"workingDir", STRING, NULL},
    {"ports", LIST, port_fields},
    {"envFrom", LIST, env_from_fields},
    {"env", LIST, env_fields},
    {"resources", OBJECT, resources_fields},
    {"resizePolicy", LIST, resize_policy_fields},
    {"restartPolicy", STRING, NULL},
    {"restartPolicyRules", LIST, restart_rule_fields},
    {"volumeMounts", LIST, volume_mount_fields},
    {"volumeDevices", LIST, volume_device_fields},
    {"livenessProbe", OBJECT, probe_fields},
    {"readinessProbe", OBJECT, probe_fields},
    {"startupProbe", OBJECT, probe_fields},
    {"lifecycle", OBJECT, lifecycle_fields},
    {"terminationMessagePath", STRING, NULL},
    {"terminationMessagePolicy", STRING, NULL},
    {"imagePullPolicy", STRING, NULL},
    {"securityContext", OBJECT, security_fields},
    {"stdin", BOOL, NULL},
    {"stdinOnce", BOOL, NULL},
    {"tty", BOOL, NULL},
    {"targetContainerName", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field pod_security_fields[] = {
    {"seLinuxOptions", OBJECT, se_linux_fields},
    {"windowsOptions", OBJECT, windows_fields},
    {"runAsUser", INT64, NULL},
    {"runAsGroup", INT64, NULL},
    {"runAsNonRoot", BOOL, NULL},
    {"supplementalGroups", INT64S, NULL},
    {"supplementalGroupsPolicy", STRING, NULL},
    {"fsGroup", INT64, NULL},
    {"sysctls", LIST, name_value_fields},
    {"fsGroupChangePolicy", STRING, NULL},
    {"seccompProfile", OBJECT, profile_fields},
    {"appArmorProfile", OBJECT, profile_fields},
    {"seLinuxChangePolicy", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field toleration_fields[] = {
    {"key", STRING, NULL},    {"operator", STRING, NULL},         {"value", STRING, NULL},
    {"effect", STRING, NULL}, {"tolerationSeconds", INT64, NULL}, {NULL, ANY, NULL},
};
static const struct field host_alias_fields[] = {
    {"ip", STRING, NULL},
    {"hostnames", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field dns_config_fields[] = {
    {"nameservers", STRINGS, NULL},
    {"searches", STRINGS, NULL},
    {"options", LIST, name_value_fields},
    {NULL, ANY, NULL},
};
static const struct field readiness_gate_fields[] = {
    {"conditionType", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field spread_fields[] = {
    {"maxSkew", INT32, NULL},
    {"topologyKey", STRING, NULL},
    {"whenUnsatisfiable", STRING, NULL},
    {"labelSelector", OBJECT, label_selector_fields},
    {"minDomains", INT32, NULL},
    {"nodeAffinityPolicy", STRING, NULL},
    {"nodeTaintsPolicy", STRING, NULL},
    {"matchLabelKeys", STRINGS, NULL},
    {NULL, ANY, NULL},
};
static const struct field pod_claim_fields[] = {
    {"name", STRING, NULL},
    {"resourceClaimName", STRING, NULL},
    {"resourceClaimTemplateName", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field key_path_fields[] = {
    {"key", STRING, NULL},
    {"path", STRING, NULL},
    {"mode", INT32, NULL},
    {NULL, ANY, NULL},
};
static const struct field host_path_fields[] = {
    {"path", STRING, NULL},
    {"type", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field empty_dir_fields[] = {
    {"medium", STRING, NULL},
    {"sizeLimit", QUANTITY, NULL},
    {NULL, ANY, NULL},
};
static const struct field gce_disk_fields[] = {
    {"pdName", STRING, NULL}, {"fsType", STRING, NULL}, {"partition", INT32, NULL},
    {"readOnly", BOOL, NULL}, {NULL, ANY, NULL},
};
static const struct field aws_disk_fields[] = {
    {"volumeID", STRING, NULL}, {"fsType", STRING, NULL}, {"partition", INT32, NULL},
    {"readOnly", BOOL, NULL},   {NULL, ANY, NULL},
};
static const struct field git_repo_fields[] = {
    {"repository", STRING, NULL},
    {"revision", STRING, NULL},
    {"directory", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field secret_volume_fields[] = {
    {"secretName", STRING, NULL},
    {"items", LIST, key_path_fields},
    {"defaultMode", INT32, NULL},
    {"optional", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field nfs_fields[] = {
    {"server", STRING, NULL},
    {"path", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field iscsi_fields[] = {
    {"targetPortal", STRING, NULL},
    {"iqn", STRING, NULL},
    {"lun", INT32, NULL},
    {"iscsiInterface", STRING, NULL},
    {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {"portals", STRINGS, NULL},
    {"chapAuthDiscovery", BOOL, NULL},
    {"chapAuthSession", BOOL, NULL},
    {"secretRef", OBJECT, name_ref_fields},
    {"initiatorName", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field glusterfs_fields[] = {
    {"endpoints", STRING, NULL},
    {"path", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field pvc_source_fields[] = {
    {"claimName", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field rbd_fields[] = {
    {"monitors", STRINGS, NULL},
    {"image", STRING, NULL},
    {"fsType", STRING, NULL},
    {"pool", STRING, NULL},
    {"user", STRING, NULL},
    {"keyring", STRING, NULL},
    {"secretRef", OBJECT, name_ref_fields},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field flex_fields[] = {
    {"driver", STRING, NULL}, {"fsType", STRING, NULL},      {"secretRef", OBJECT, name_ref_fields},
    {"readOnly", BOOL, NULL}, {"options", STRING_MAP, NULL}, {NULL, ANY, NULL},
};
static const struct field cinder_fields[] = {
    {"volumeID", STRING, NULL}, {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},   {"secretRef", OBJECT, name_ref_fields},
    {NULL, ANY, NULL},
};
static const struct field cephfs_fields[] = {
    {"monitors", STRINGS, NULL},
    {"path", STRING, NULL},
    {"user", STRING, NULL},
    {"secretFile", STRING, NULL},
    {"secretRef", OBJECT, name_ref_fields},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field flocker_fields[] = {
    {"datasetName", STRING, NULL},
    {"datasetUUID", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field downward_file_fields[] = {
    {"path", STRING, NULL},
    {"fieldRef", OBJECT, field_ref_fields},
    {"resourceFieldRef", OBJECT, resource_field_ref_fields},
    {"mode", INT32, NULL},
    {NULL, ANY, NULL},
};
static const struct field downward_fields[] = {
    {"items", LIST, downward_file_fields},
    {"defaultMode", INT32, NULL},
    {NULL, ANY, NULL},
};
static const struct field fibre_channel_fields[] = {
    {"targetWWNs", STRINGS, NULL}, {"lun", INT32, NULL},     {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},      {"wwids", STRINGS, NULL}, {NULL, ANY, NULL},
};
static const struct field azure_file_fields[] = {
    {"secretName", STRING, NULL},
    {"shareName", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field config_map_volume_fields[] = {
    {"name", STRING, NULL},
    {"items", LIST, key_path_fields},
    {"defaultMode", INT32, NULL},
    {"optional", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field vsphere_fields[] = {
    {"volumePath", STRING, NULL},
    {"fsType", STRING, NULL},
    {"storagePolicyName", STRING, NULL},
    {"storagePolicyID", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field quobyte_fields[] = {
    {"registry", STRING, NULL}, {"volume", STRING, NULL}, {"readOnly", BOOL, NULL},
    {"user", STRING, NULL},     {"group", STRING, NULL},  {"tenant", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field azure_disk_fields[] = {
    {"diskName", STRING, NULL}, {"diskURI", STRING, NULL}, {"cachingMode", STRING, NULL},
    {"fsType", STRING, NULL},   {"readOnly", BOOL, NULL},  {"kind", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field photon_fields[] = {
    {"pdID", STRING, NULL},
    {"fsType", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field token_projection_fields[] = {
    {"audience", STRING, NULL},
    {"expirationSeconds", INT64, NULL},
    {"path", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field trust_bundle_fields[] = {
    {"name", STRING, NULL},
    {"signerName", STRING, NULL},
    {"labelSelector", OBJECT, label_selector_fields},
    {"optional", BOOL, NULL},
    {"path", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field pod_certificate_fields[] = {
    {"signerName", STRING, NULL},
    {"keyType", STRING, NULL},
    {"maxExpirationSeconds", INT32, NULL},
    {"credentialBundlePath", STRING, NULL},
    {"keyPath", STRING, NULL},
    {"certificateChainPath", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field projection_fields[] = {
    {"secret", OBJECT, config_map_volume_fields},
    {"downwardAPI", OBJECT, downward_fields},
    {"configMap", OBJECT, config_map_volume_fields},
    {"serviceAccountToken", OBJECT, token_projection_fields},
    {"clusterTrustBundle", OBJECT, trust_bundle_fields},
    {"podCertificate", OBJECT, pod_certificate_fields},
    {NULL, ANY, NULL},
};
static const struct field projected_fields[] = {
    {"sources", LIST, projection_fields},
    {"defaultMode", INT32, NULL},
    {NULL, ANY, NULL},
};
static const struct field portworx_fields[] = {
    {"volumeID", STRING, NULL},
    {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field scale_io_fields[] = {
    {"gateway", STRING, NULL},
    {"system", STRING, NULL},
    {"secretRef", OBJECT, name_ref_fields},
    {"sslEnabled", BOOL, NULL},
    {"protectionDomain", STRING, NULL},
    {"storagePool", STRING, NULL},
    {"storageMode", STRING, NULL},
    {"volumeName", STRING, NULL},
    {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {NULL, ANY, NULL},
};
static const struct field storage_os_fields[] = {
    {"volumeName", STRING, NULL}, {"volumeNamespace", STRING, NULL},      {"fsType", STRING, NULL},
    {"readOnly", BOOL, NULL},     {"secretRef", OBJECT, name_ref_fields}, {NULL, ANY, NULL},
};
static const struct field csi_fields[] = {
    {"driver", STRING, NULL},
    {"readOnly", BOOL, NULL},
    {"fsType", STRING, NULL},
    {"volumeAttributes", STRING_MAP, NULL},
    {"nodePublishSecretRef", OBJECT, name_ref_fields},
    {NULL, ANY, NULL},
};
static const struct field data_source_fields[] = {
    {"apiGroup", STRING, NULL},  {"kind", STRING, NULL}, {"name", STRING, NULL},
    {"namespace", STRING, NULL}, {NULL, ANY, NULL},
};
static const struct field pvc_spec_fields[] = {
    {"accessModes", STRINGS, NULL},
    {"selector", OBJECT, label_selector_fields},
    {"resources", OBJECT, resources_fields},
    {"volumeName", STRING, NULL},
    {"storageClassName", STRING, NULL},
    {"volumeMode", STRING, NULL},
    {"dataSource", OBJECT, data_source_fields},
    {"dataSourceRef", OBJECT, data_source_fields},
    {"volumeAttributesClassName", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field pvc_template_fields[] = {
    {"metadata", OBJECT, meta_fields},
    {"spec", OBJECT, pvc_spec_fields},
    {NULL, ANY, NULL},
};
static const struct field ephemeral_fields[] = {
    {"volumeClaimTemplate", OBJECT, pvc_template_fields},
    {NULL, ANY, NULL},
};
static const struct field image_volume_fields[] = {
    {"reference", STRING, NULL},
    {"pullPolicy", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field volume_fields[] = {
    {"name", STRING, NULL},
    {"hostPath", OBJECT, host_path_fields},
    {"emptyDir", OBJECT, empty_dir_fields},
    {"gcePersistentDisk", OBJECT, gce_disk_fields},
    {"awsElasticBlockStore", OBJECT, aws_disk_fields},
    {"gitRepo", OBJECT, git_repo_fields},
    {"secret", OBJECT, secret_volume_fields},
    {"nfs", OBJECT, nfs_fields},
    {"iscsi", OBJECT, iscsi_fields},
    {"glusterfs", OBJECT, glusterfs_fields},
    {"persistentVolumeClaim", OBJECT, pvc_source_fields},
    {"rbd", OBJECT, rbd_fields},
    {"flexVolume", OBJECT, flex_fields},
    {"cinder", OBJECT, cinder_fields},
    {"cephfs", OBJECT, cephfs_fields},
    {"flocker", OBJECT, flocker_fields},
    {"downwardAPI", OBJECT, downward_fields},
    {"fc", OBJECT, fibre_channel_fields},
    {"azureFile", OBJECT, azure_file_fields},
    {"configMap", OBJECT, config_map_volume_fields},
    {"vsphereVolume", OBJECT, vsphere_fields},
    {"quobyte", OBJECT, quobyte_fields},
    {"azureDisk", OBJECT, azure_disk_fields},
    {"photonPersistentDisk", OBJECT, photon_fields},
    {"projected", OBJECT, projected_fields},
    {"portworxVolume", OBJECT, portworx_fields},
    {"scaleIO", OBJECT, scale_io_fields},
    {"storageos", OBJECT, storage_os_fields},
    {"csi", OBJECT, csi_fields},
    {"ephemeral", OBJECT, ephemeral_fields},
    {"image", OBJECT, image_volume_fields},
    {NULL, ANY, NULL},
};
static const struct field pod_spec_fields[] = {
    {"volumes", LIST, volume_fields},
    {"initContainers", LIST, container_fields},
    {"containers", LIST, container_fields},
    {"ephemeralContainers", LIST, container_fields},
    {"restartPolicy", STRING, NULL},
    {"terminationGracePeriodSeconds", INT64, NULL},
    {"activeDeadlineSeconds", INT64, NULL},
    {"dnsPolicy", STRING, NULL},
    {"nodeSelector", STRING_MAP, NULL},
    {"serviceAccountName", STRING, NULL},
    {"serviceAccount", STRING, NULL},
    {"automountServiceAccountToken", BOOL, NULL},
    {"nodeName", STRING, NULL},
    {"hostNetwork", BOOL, NULL},
    {"hostPID", BOOL, NULL},
    {"hostIPC", BOOL, NULL},
    {"shareProcessNamespace", BOOL, NULL},
    {"securityContext", OBJECT, pod_security_fields},
    {"imagePullSecrets", LIST, name_ref_fields},
    {"hostname", STRING, NULL},
    {"subdomain", STRING, NULL},
    {"affinity", OBJECT, affinity_fields},
    {"schedulerName", STRING, NULL},
    {"tolerations", LIST, toleration_fields},
    {"hostAliases", LIST, host_alias_fields},
    {"priorityClassName", STRING, NULL},
    {"priority", INT32, NULL},
    {"dnsConfig", OBJECT, dns_config_fields},
    {"readinessGates", LIST, readiness_gate_fields},
    {"runtimeClassName", STRING, NULL},
    {"enableServiceLinks", BOOL, NULL},
    {"preemptionPolicy", STRING, NULL},
    {"overhead", QUANTITY_MAP, NULL},
    {"topologySpreadConstraints", LIST, spread_fields},
    {"setHostnameAsFQDN", BOOL, NULL},
    {"os", OBJECT, name_ref_fields},
    {"hostUsers", BOOL, NULL},
    {"schedulingGates", LIST, name_ref_fields},
    {"resourceClaims", LIST, pod_claim_fields},
    {"resources", OBJECT, resources_fields},
    {"hostnameOverride", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field condition_fields[] = {
    {"type", STRING, NULL},
    {"observedGeneration", INT64, NULL},
    {"status", STRING, NULL},
    {"lastProbeTime", TIME, NULL},
    {"lastTransitionTime", TIME, NULL},
    {"reason", STRING, NULL},
    {"message", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field ip_fields[] = {
    {"ip", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field waiting_fields[] = {
    {"reason", STRING, NULL},
    {"message", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field running_fields[] = {
    {"startedAt", TIME, NULL},
    {NULL, ANY, NULL},
};
static const struct field terminated_fields[] = {
    {"exitCode", INT32, NULL},     {"signal", INT32, NULL},   {"reason", STRING, NULL},
    {"message", STRING, NULL},     {"startedAt", TIME, NULL}, {"finishedAt", TIME, NULL},
    {"containerID", STRING, NULL}, {NULL, ANY, NULL},
};
static const struct field state_fields[] = {
    {"waiting", OBJECT, waiting_fields},
    {"running", OBJECT, running_fields},
    {"terminated", OBJECT, terminated_fields},
    {NULL, ANY, NULL},
};
static const struct field linux_user_fields[] = {
    {"uid", INT64, NULL},
    {"gid", INT64, NULL},
    {"supplementalGroups", INT64S, NULL},
    {NULL, ANY, NULL},
};
static const struct field user_fields[] = {
    {"linux", OBJECT, linux_user_fields},
    {NULL, ANY, NULL},
};
static const struct field health_fields[] = {
    {"resourceID", STRING, NULL},
    {"health", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field resource_status_fields[] = {
    {"name", STRING, NULL},
    {"resources", LIST, health_fields},
    {NULL, ANY, NULL},
};
static const struct field container_status_fields[] = {
    {"name", STRING, NULL},
    {"state", OBJECT, state_fields},
    {"lastState", OBJECT, state_fields},
    {"ready", BOOL, NULL},
    {"restartCount", INT32, NULL},
    {"image", STRING, NULL},
    {"imageID", STRING, NULL},
    {"containerID", STRING, NULL},
    {"started", BOOL, NULL},
    {"allocatedResources", QUANTITY_MAP, NULL},
    {"resources", OBJECT, resources_fields},
    {"volumeMounts", LIST, volume_mount_fields},
    {"user", OBJECT, user_fields},
    {"allocatedResourcesStatus", LIST, resource_status_fields},
    {"stopSignal", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field claim_status_fields[] = {
    {"name", STRING, NULL},
    {"resourceClaimName", STRING, NULL},
    {NULL, ANY, NULL},
};
static const struct field pod_status_fields[] = {
    {"observedGeneration", INT64, NULL},
    {"phase", STRING, NULL},
    {"conditions", LIST, condition_fields},
    {"message", STRING, NULL},
    {"reason", STRING, NULL},
    {"nominatedNodeName", STRING, NULL},
    {"hostIP", STRING, NULL},
    {"hostIPs", LIST, ip_fields},
    {"podIP", STRING, NULL},
    {"podIPs", LIST, ip_fields},
    {"startTime", TIME, NULL},
    {"initContainerStatuses", LIST, container_status_fields},
    {"containerStatuses", LIST, container_status_fields},
    {"qosClass", STRING, NULL},
    {"ephemeralContainerStatuses", LIST, container_status_fields},
    {"resize", STRING, NULL},
    {"resourceClaimStatuses", LIST, claim_status_fields},
    {NULL, ANY, NULL},
};
static const struct field pod_fields[] = {
    {"kind", STRING, NULL},
    {"apiVersion", STRING, NULL},
    {"metadata", OBJECT, meta_fields},
    {"spec", OBJECT, pod_spec_fields},
    {"status", OBJECT, pod_status_fields},
    {NULL, ANY, NULL},
};
