/*
 * The members of a Pod and all that is in it, in the order of the Go structures (core/v1, 1.36),
 * which is also the order in which API servers write them. Included by pod_types.c only.
 */
static const struct field name_value_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("value", STRING, NULL),
    FIELDS_END,
};
static const struct field name_ref_fields[] = {
    FIELD("name", STRING, NULL),
    FIELDS_END,
};
static const struct field key_selector_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("key", STRING, NULL),
    FIELD("optional", BOOL, NULL),
    FIELDS_END,
};
static const struct field optional_ref_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("optional", BOOL, NULL),
    FIELDS_END,
};
static const struct field expression_fields[] = {
    FIELD("key", STRING, NULL),
    FIELD("operator", STRING, NULL),
    FIELD("values", STRINGS, NULL),
    FIELDS_END,
};
static const struct field label_selector_fields[] = {
    FIELD("matchLabels", STRING_MAP, NULL),
    FIELD("matchExpressions", LIST, expression_fields),
    FIELDS_END,
};
static const struct field node_term_fields[] = {
    FIELD("matchExpressions", LIST, expression_fields),
    FIELD("matchFields", LIST, expression_fields),
    FIELDS_END,
};
static const struct field node_selector_fields[] = {
    FIELD("nodeSelectorTerms", LIST, node_term_fields),
    FIELDS_END,
};
static const struct field preferred_node_fields[] = {
    FIELD("weight", INT32, NULL),
    FIELD("preference", OBJECT, node_term_fields),
    FIELDS_END,
};
static const struct field node_affinity_fields[] = {
    FIELD("requiredDuringSchedulingIgnoredDuringExecution", OBJECT, node_selector_fields),
    FIELD("preferredDuringSchedulingIgnoredDuringExecution", LIST, preferred_node_fields),
    FIELDS_END,
};
static const struct field pod_term_fields[] = {
    FIELD("labelSelector", OBJECT, label_selector_fields),
    FIELD("namespaces", STRINGS, NULL),
    FIELD("topologyKey", STRING, NULL),
    FIELD("namespaceSelector", OBJECT, label_selector_fields),
    FIELD("matchLabelKeys", STRINGS, NULL),
    FIELD("mismatchLabelKeys", STRINGS, NULL),
    FIELDS_END,
};
static const struct field preferred_pod_fields[] = {
    FIELD("weight", INT32, NULL),
    FIELD("podAffinityTerm", OBJECT, pod_term_fields),
    FIELDS_END,
};
static const struct field pod_affinity_fields[] = {
    FIELD("requiredDuringSchedulingIgnoredDuringExecution", LIST, pod_term_fields),
    FIELD("preferredDuringSchedulingIgnoredDuringExecution", LIST, preferred_pod_fields),
    FIELDS_END,
};
static const struct field affinity_fields[] = {
    FIELD("nodeAffinity", OBJECT, node_affinity_fields),
    FIELD("podAffinity", OBJECT, pod_affinity_fields),
    FIELD("podAntiAffinity", OBJECT, pod_affinity_fields),
    FIELDS_END,
};
static const struct field owner_fields[] = {
    FIELD("apiVersion", STRING, NULL),
    FIELD("kind", STRING, NULL),
    FIELD("name", STRING, NULL),
    FIELD("uid", STRING, NULL),
    FIELD("controller", BOOL, NULL),
    FIELD("blockOwnerDeletion", BOOL, NULL),
    FIELDS_END,
};
static const struct field managed_fields_fields[] = {
    FIELD("manager", STRING, NULL),     FIELD("operation", STRING, NULL),
    FIELD("apiVersion", STRING, NULL),  FIELD("time", TIME, NULL),
    FIELD("fieldsType", STRING, NULL),  FIELD("fieldsV1", ANY, NULL),
    FIELD("subresource", STRING, NULL), FIELDS_END,
};
static const struct field meta_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("generateName", STRING, NULL),
    FIELD("namespace", STRING, NULL),
    FIELD("selfLink", STRING, NULL),
    FIELD("uid", STRING, NULL),
    FIELD("resourceVersion", STRING, NULL),
    FIELD("generation", INT64, NULL),
    FIELD("creationTimestamp", TIME, NULL),
    FIELD("deletionTimestamp", TIME, NULL),
    FIELD("deletionGracePeriodSeconds", INT64, NULL),
    FIELD("labels", STRING_MAP, NULL),
    FIELD("annotations", STRING_MAP, NULL),
    FIELD("ownerReferences", LIST, owner_fields),
    FIELD("finalizers", STRINGS, NULL),
    FIELD("managedFields", LIST, managed_fields_fields),
    FIELDS_END,
};
static const struct field claim_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("request", STRING, NULL),
    FIELDS_END,
};
static const struct field resources_fields[] = {
    FIELD("limits", QUANTITY_MAP, NULL),
    FIELD("requests", QUANTITY_MAP, NULL),
    FIELD("claims", LIST, claim_fields),
    FIELDS_END,
};
static const struct field port_fields[] = {
    FIELD("name", STRING, NULL),         FIELD("hostPort", INT32, NULL),
    FIELD("containerPort", INT32, NULL), FIELD("protocol", STRING, NULL),
    FIELD("hostIP", STRING, NULL),       FIELDS_END,
};
static const struct field env_from_fields[] = {
    FIELD("prefix", STRING, NULL),
    FIELD("configMapRef", OBJECT, optional_ref_fields),
    FIELD("secretRef", OBJECT, optional_ref_fields),
    FIELDS_END,
};
static const struct field field_ref_fields[] = {
    FIELD("apiVersion", STRING, NULL),
    FIELD("fieldPath", STRING, NULL),
    FIELDS_END,
};
static const struct field resource_field_ref_fields[] = {
    FIELD("containerName", STRING, NULL),
    FIELD("resource", STRING, NULL),
    FIELD("divisor", QUANTITY, NULL),
    FIELDS_END,
};
static const struct field file_key_ref_fields[] = {
    FIELD("volumeName", STRING, NULL),
    FIELD("path", STRING, NULL),
    FIELD("key", STRING, NULL),
    FIELD("optional", BOOL, NULL),
    FIELDS_END,
};
static const struct field env_source_fields[] = {
    FIELD("fieldRef", OBJECT, field_ref_fields),
    FIELD("resourceFieldRef", OBJECT, resource_field_ref_fields),
    FIELD("configMapKeyRef", OBJECT, key_selector_fields),
    FIELD("secretKeyRef", OBJECT, key_selector_fields),
    FIELD("fileKeyRef", OBJECT, file_key_ref_fields),
    FIELDS_END,
};
static const struct field env_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("value", STRING, NULL),
    FIELD("valueFrom", OBJECT, env_source_fields),
    FIELDS_END,
};
static const struct field resize_policy_fields[] = {
    FIELD("resourceName", STRING, NULL),
    FIELD("restartPolicy", STRING, NULL),
    FIELDS_END,
};
static const struct field exit_codes_fields[] = {
    FIELD("operator", STRING, NULL),
    FIELD("values", INT32S, NULL),
    FIELDS_END,
};
static const struct field restart_rule_fields[] = {
    FIELD("action", STRING, NULL),
    FIELD("exitCodes", OBJECT, exit_codes_fields),
    FIELDS_END,
};
static const struct field volume_mount_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("recursiveReadOnly", STRING, NULL),
    FIELD("mountPath", STRING, NULL),
    FIELD("subPath", STRING, NULL),
    FIELD("mountPropagation", STRING, NULL),
    FIELD("subPathExpr", STRING, NULL),
    FIELDS_END,
};
static const struct field volume_device_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("devicePath", STRING, NULL),
    FIELDS_END,
};
static const struct field exec_fields[] = {
    FIELD("command", STRINGS, NULL),
    FIELDS_END,
};
static const struct field http_get_fields[] = {
    FIELD("path", STRING, NULL),
    FIELD("port", INT_OR_STRING, NULL),
    FIELD("host", STRING, NULL),
    FIELD("scheme", STRING, NULL),
    FIELD("httpHeaders", LIST, name_value_fields),
    FIELDS_END,
};
static const struct field tcp_socket_fields[] = {
    FIELD("port", INT_OR_STRING, NULL),
    FIELD("host", STRING, NULL),
    FIELDS_END,
};
static const struct field grpc_fields[] = {
    FIELD("port", INT32, NULL),
    FIELD("service", STRING, NULL),
    FIELDS_END,
};
static const struct field probe_fields[] = {
    FIELD("exec", OBJECT, exec_fields),
    FIELD("httpGet", OBJECT, http_get_fields),
    FIELD("tcpSocket", OBJECT, tcp_socket_fields),
    FIELD("grpc", OBJECT, grpc_fields),
    FIELD("initialDelaySeconds", INT32, NULL),
    FIELD("timeoutSeconds", INT32, NULL),
    FIELD("periodSeconds", INT32, NULL),
    FIELD("successThreshold", INT32, NULL),
    FIELD("failureThreshold", INT32, NULL),
    FIELD("terminationGracePeriodSeconds", INT64, NULL),
    FIELDS_END,
};
static const struct field sleep_fields[] = {
    FIELD("seconds", INT64, NULL),
    FIELDS_END,
};
static const struct field handler_fields[] = {
    FIELD("exec", OBJECT, exec_fields),
    FIELD("httpGet", OBJECT, http_get_fields),
    FIELD("tcpSocket", OBJECT, tcp_socket_fields),
    FIELD("sleep", OBJECT, sleep_fields),
    FIELDS_END,
};
static const struct field lifecycle_fields[] = {
    FIELD("postStart", OBJECT, handler_fields),
    FIELD("preStop", OBJECT, handler_fields),
    FIELD("stopSignal", STRING, NULL),
    FIELDS_END,
};
static const struct field capabilities_fields[] = {
    FIELD("add", STRINGS, NULL),
    FIELD("drop", STRINGS, NULL),
    FIELDS_END,
};
static const struct field se_linux_fields[] = {
    FIELD("user", STRING, NULL),
    FIELD("role", STRING, NULL),
    FIELD("type", STRING, NULL),
    FIELD("level", STRING, NULL),
    FIELDS_END,
};
static const struct field windows_fields[] = {
    FIELD("gmsaCredentialSpecName", STRING, NULL),
    FIELD("gmsaCredentialSpec", STRING, NULL),
    FIELD("runAsUserName", STRING, NULL),
    FIELD("hostProcess", BOOL, NULL),
    FIELDS_END,
};
static const struct field profile_fields[] = {
    FIELD("type", STRING, NULL),
    FIELD("localhostProfile", STRING, NULL),
    FIELDS_END,
};
static const struct field security_fields[] = {
    FIELD("capabilities", OBJECT, capabilities_fields),
    FIELD("privileged", BOOL, NULL),
    FIELD("seLinuxOptions", OBJECT, se_linux_fields),
    FIELD("windowsOptions", OBJECT, windows_fields),
    FIELD("runAsUser", INT64, NULL),
    FIELD("runAsGroup", INT64, NULL),
    FIELD("runAsNonRoot", BOOL, NULL),
    FIELD("readOnlyRootFilesystem", BOOL, NULL),
    FIELD("allowPrivilegeEscalation", BOOL, NULL),
    FIELD("procMount", STRING, NULL),
    FIELD("seccompProfile", OBJECT, profile_fields),
    FIELD("appArmorProfile", OBJECT, profile_fields),
    FIELDS_END,
};
static const struct field container_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("image", STRING, NULL),
    FIELD("command", STRINGS, NULL),
    FIELD("args", STRINGS, NULL),
    FIELD("workingDir", STRING, NULL),
    FIELD("ports", LIST, port_fields),
    FIELD("envFrom", LIST, env_from_fields),
    FIELD("env", LIST, env_fields),
    FIELD("resources", OBJECT, resources_fields),
    FIELD("resizePolicy", LIST, resize_policy_fields),
    FIELD("restartPolicy", STRING, NULL),
    FIELD("restartPolicyRules", LIST, restart_rule_fields),
    FIELD("volumeMounts", LIST, volume_mount_fields),
    FIELD("volumeDevices", LIST, volume_device_fields),
    FIELD("livenessProbe", OBJECT, probe_fields),
    FIELD("readinessProbe", OBJECT, probe_fields),
    FIELD("startupProbe", OBJECT, probe_fields),
    FIELD("lifecycle", OBJECT, lifecycle_fields),
    FIELD("terminationMessagePath", STRING, NULL),
    FIELD("terminationMessagePolicy", STRING, NULL),
    FIELD("imagePullPolicy", STRING, NULL),
    FIELD("securityContext", OBJECT, security_fields),
    FIELD("stdin", BOOL, NULL),
    FIELD("stdinOnce", BOOL, NULL),
    FIELD("tty", BOOL, NULL),
    FIELD("targetContainerName", STRING, NULL),
    FIELDS_END,
};
static const struct field pod_security_fields[] = {
    FIELD("seLinuxOptions", OBJECT, se_linux_fields),
    FIELD("windowsOptions", OBJECT, windows_fields),
    FIELD("runAsUser", INT64, NULL),
    FIELD("runAsGroup", INT64, NULL),
    FIELD("runAsNonRoot", BOOL, NULL),
    FIELD("supplementalGroups", INT64S, NULL),
    FIELD("supplementalGroupsPolicy", STRING, NULL),
    FIELD("fsGroup", INT64, NULL),
    FIELD("sysctls", LIST, name_value_fields),
    FIELD("fsGroupChangePolicy", STRING, NULL),
    FIELD("seccompProfile", OBJECT, profile_fields),
    FIELD("appArmorProfile", OBJECT, profile_fields),
    FIELD("seLinuxChangePolicy", STRING, NULL),
    FIELDS_END,
};
static const struct field toleration_fields[] = {
    FIELD("key", STRING, NULL),
    FIELD("operator", STRING, NULL),
    FIELD("value", STRING, NULL),
    FIELD("effect", STRING, NULL),
    FIELD("tolerationSeconds", INT64, NULL),
    FIELDS_END,
};
static const struct field host_alias_fields[] = {
    FIELD("ip", STRING, NULL),
    FIELD("hostnames", STRINGS, NULL),
    FIELDS_END,
};
static const struct field dns_config_fields[] = {
    FIELD("nameservers", STRINGS, NULL),
    FIELD("searches", STRINGS, NULL),
    FIELD("options", LIST, name_value_fields),
    FIELDS_END,
};
static const struct field readiness_gate_fields[] = {
    FIELD("conditionType", STRING, NULL),
    FIELDS_END,
};
static const struct field spread_fields[] = {
    FIELD("maxSkew", INT32, NULL),
    FIELD("topologyKey", STRING, NULL),
    FIELD("whenUnsatisfiable", STRING, NULL),
    FIELD("labelSelector", OBJECT, label_selector_fields),
    FIELD("minDomains", INT32, NULL),
    FIELD("nodeAffinityPolicy", STRING, NULL),
    FIELD("nodeTaintsPolicy", STRING, NULL),
    FIELD("matchLabelKeys", STRINGS, NULL),
    FIELDS_END,
};
static const struct field pod_claim_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("resourceClaimName", STRING, NULL),
    FIELD("resourceClaimTemplateName", STRING, NULL),
    FIELDS_END,
};
static const struct field key_path_fields[] = {
    FIELD("key", STRING, NULL),
    FIELD("path", STRING, NULL),
    FIELD("mode", INT32, NULL),
    FIELDS_END,
};
static const struct field host_path_fields[] = {
    FIELD("path", STRING, NULL),
    FIELD("type", STRING, NULL),
    FIELDS_END,
};
static const struct field empty_dir_fields[] = {
    FIELD("medium", STRING, NULL),
    FIELD("sizeLimit", QUANTITY, NULL),
    FIELDS_END,
};
static const struct field gce_disk_fields[] = {
    FIELD("pdName", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("partition", INT32, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field aws_disk_fields[] = {
    FIELD("volumeID", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("partition", INT32, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field git_repo_fields[] = {
    FIELD("repository", STRING, NULL),
    FIELD("revision", STRING, NULL),
    FIELD("directory", STRING, NULL),
    FIELDS_END,
};
static const struct field secret_volume_fields[] = {
    FIELD("secretName", STRING, NULL),
    FIELD("items", LIST, key_path_fields),
    FIELD("defaultMode", INT32, NULL),
    FIELD("optional", BOOL, NULL),
    FIELDS_END,
};
static const struct field nfs_fields[] = {
    FIELD("server", STRING, NULL),
    FIELD("path", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field iscsi_fields[] = {
    FIELD("targetPortal", STRING, NULL),
    FIELD("iqn", STRING, NULL),
    FIELD("lun", INT32, NULL),
    FIELD("iscsiInterface", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("portals", STRINGS, NULL),
    FIELD("chapAuthDiscovery", BOOL, NULL),
    FIELD("chapAuthSession", BOOL, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELD("initiatorName", STRING, NULL),
    FIELDS_END,
};
static const struct field glusterfs_fields[] = {
    FIELD("endpoints", STRING, NULL),
    FIELD("path", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field pvc_source_fields[] = {
    FIELD("claimName", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field rbd_fields[] = {
    FIELD("monitors", STRINGS, NULL),
    FIELD("image", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("pool", STRING, NULL),
    FIELD("user", STRING, NULL),
    FIELD("keyring", STRING, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field flex_fields[] = {
    FIELD("driver", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELD("readOnly", BOOL, NULL),
    FIELD("options", STRING_MAP, NULL),
    FIELDS_END,
};
static const struct field cinder_fields[] = {
    FIELD("volumeID", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELDS_END,
};
static const struct field cephfs_fields[] = {
    FIELD("monitors", STRINGS, NULL),
    FIELD("path", STRING, NULL),
    FIELD("user", STRING, NULL),
    FIELD("secretFile", STRING, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field flocker_fields[] = {
    FIELD("datasetName", STRING, NULL),
    FIELD("datasetUUID", STRING, NULL),
    FIELDS_END,
};
static const struct field downward_file_fields[] = {
    FIELD("path", STRING, NULL),
    FIELD("fieldRef", OBJECT, field_ref_fields),
    FIELD("resourceFieldRef", OBJECT, resource_field_ref_fields),
    FIELD("mode", INT32, NULL),
    FIELDS_END,
};
static const struct field downward_fields[] = {
    FIELD("items", LIST, downward_file_fields),
    FIELD("defaultMode", INT32, NULL),
    FIELDS_END,
};
static const struct field fibre_channel_fields[] = {
    FIELD("targetWWNs", STRINGS, NULL), FIELD("lun", INT32, NULL),
    FIELD("fsType", STRING, NULL),      FIELD("readOnly", BOOL, NULL),
    FIELD("wwids", STRINGS, NULL),      FIELDS_END,
};
static const struct field azure_file_fields[] = {
    FIELD("secretName", STRING, NULL),
    FIELD("shareName", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field config_map_volume_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("items", LIST, key_path_fields),
    FIELD("defaultMode", INT32, NULL),
    FIELD("optional", BOOL, NULL),
    FIELDS_END,
};
static const struct field vsphere_fields[] = {
    FIELD("volumePath", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("storagePolicyName", STRING, NULL),
    FIELD("storagePolicyID", STRING, NULL),
    FIELDS_END,
};
static const struct field quobyte_fields[] = {
    FIELD("registry", STRING, NULL),
    FIELD("volume", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("user", STRING, NULL),
    FIELD("group", STRING, NULL),
    FIELD("tenant", STRING, NULL),
    FIELDS_END,
};
static const struct field azure_disk_fields[] = {
    FIELD("diskName", STRING, NULL),
    FIELD("diskURI", STRING, NULL),
    FIELD("cachingMode", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("kind", STRING, NULL),
    FIELDS_END,
};
static const struct field photon_fields[] = {
    FIELD("pdID", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELDS_END,
};
static const struct field token_projection_fields[] = {
    FIELD("audience", STRING, NULL),
    FIELD("expirationSeconds", INT64, NULL),
    FIELD("path", STRING, NULL),
    FIELDS_END,
};
static const struct field trust_bundle_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("signerName", STRING, NULL),
    FIELD("labelSelector", OBJECT, label_selector_fields),
    FIELD("optional", BOOL, NULL),
    FIELD("path", STRING, NULL),
    FIELDS_END,
};
static const struct field pod_certificate_fields[] = {
    FIELD("signerName", STRING, NULL),
    FIELD("keyType", STRING, NULL),
    FIELD("maxExpirationSeconds", INT32, NULL),
    FIELD("credentialBundlePath", STRING, NULL),
    FIELD("keyPath", STRING, NULL),
    FIELD("certificateChainPath", STRING, NULL),
    FIELDS_END,
};
static const struct field projection_fields[] = {
    FIELD("secret", OBJECT, config_map_volume_fields),
    FIELD("downwardAPI", OBJECT, downward_fields),
    FIELD("configMap", OBJECT, config_map_volume_fields),
    FIELD("serviceAccountToken", OBJECT, token_projection_fields),
    FIELD("clusterTrustBundle", OBJECT, trust_bundle_fields),
    FIELD("podCertificate", OBJECT, pod_certificate_fields),
    FIELDS_END,
};
static const struct field projected_fields[] = {
    FIELD("sources", LIST, projection_fields),
    FIELD("defaultMode", INT32, NULL),
    FIELDS_END,
};
static const struct field portworx_fields[] = {
    FIELD("volumeID", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field scale_io_fields[] = {
    FIELD("gateway", STRING, NULL),
    FIELD("system", STRING, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELD("sslEnabled", BOOL, NULL),
    FIELD("protectionDomain", STRING, NULL),
    FIELD("storagePool", STRING, NULL),
    FIELD("storageMode", STRING, NULL),
    FIELD("volumeName", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELDS_END,
};
static const struct field storage_os_fields[] = {
    FIELD("volumeName", STRING, NULL),
    FIELD("volumeNamespace", STRING, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("secretRef", OBJECT, name_ref_fields),
    FIELDS_END,
};
static const struct field csi_fields[] = {
    FIELD("driver", STRING, NULL),
    FIELD("readOnly", BOOL, NULL),
    FIELD("fsType", STRING, NULL),
    FIELD("volumeAttributes", STRING_MAP, NULL),
    FIELD("nodePublishSecretRef", OBJECT, name_ref_fields),
    FIELDS_END,
};
static const struct field data_source_fields[] = {
    FIELD("apiGroup", STRING, NULL),
    FIELD("kind", STRING, NULL),
    FIELD("name", STRING, NULL),
    FIELD("namespace", STRING, NULL),
    FIELDS_END,
};
static const struct field pvc_spec_fields[] = {
    FIELD("accessModes", STRINGS, NULL),
    FIELD("selector", OBJECT, label_selector_fields),
    FIELD("resources", OBJECT, resources_fields),
    FIELD("volumeName", STRING, NULL),
    FIELD("storageClassName", STRING, NULL),
    FIELD("volumeMode", STRING, NULL),
    FIELD("dataSource", OBJECT, data_source_fields),
    FIELD("dataSourceRef", OBJECT, data_source_fields),
    FIELD("volumeAttributesClassName", STRING, NULL),
    FIELDS_END,
};
static const struct field pvc_template_fields[] = {
    FIELD("metadata", OBJECT, meta_fields),
    FIELD("spec", OBJECT, pvc_spec_fields),
    FIELDS_END,
};
static const struct field ephemeral_fields[] = {
    FIELD("volumeClaimTemplate", OBJECT, pvc_template_fields),
    FIELDS_END,
};
static const struct field image_volume_fields[] = {
    FIELD("reference", STRING, NULL),
    FIELD("pullPolicy", STRING, NULL),
    FIELDS_END,
};
static const struct field volume_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("hostPath", OBJECT, host_path_fields),
    FIELD("emptyDir", OBJECT, empty_dir_fields),
    FIELD("gcePersistentDisk", OBJECT, gce_disk_fields),
    FIELD("awsElasticBlockStore", OBJECT, aws_disk_fields),
    FIELD("gitRepo", OBJECT, git_repo_fields),
    FIELD("secret", OBJECT, secret_volume_fields),
    FIELD("nfs", OBJECT, nfs_fields),
    FIELD("iscsi", OBJECT, iscsi_fields),
    FIELD("glusterfs", OBJECT, glusterfs_fields),
    FIELD("persistentVolumeClaim", OBJECT, pvc_source_fields),
    FIELD("rbd", OBJECT, rbd_fields),
    FIELD("flexVolume", OBJECT, flex_fields),
    FIELD("cinder", OBJECT, cinder_fields),
    FIELD("cephfs", OBJECT, cephfs_fields),
    FIELD("flocker", OBJECT, flocker_fields),
    FIELD("downwardAPI", OBJECT, downward_fields),
    FIELD("fc", OBJECT, fibre_channel_fields),
    FIELD("azureFile", OBJECT, azure_file_fields),
    FIELD("configMap", OBJECT, config_map_volume_fields),
    FIELD("vsphereVolume", OBJECT, vsphere_fields),
    FIELD("quobyte", OBJECT, quobyte_fields),
    FIELD("azureDisk", OBJECT, azure_disk_fields),
    FIELD("photonPersistentDisk", OBJECT, photon_fields),
    FIELD("projected", OBJECT, projected_fields),
    FIELD("portworxVolume", OBJECT, portworx_fields),
    FIELD("scaleIO", OBJECT, scale_io_fields),
    FIELD("storageos", OBJECT, storage_os_fields),
    FIELD("csi", OBJECT, csi_fields),
    FIELD("ephemeral", OBJECT, ephemeral_fields),
    FIELD("image", OBJECT, image_volume_fields),
    FIELDS_END,
};
static const struct field pod_spec_fields[] = {
    FIELD("volumes", LIST, volume_fields),
    FIELD("initContainers", LIST, container_fields),
    FIELD("containers", LIST, container_fields),
    FIELD("ephemeralContainers", LIST, container_fields),
    FIELD("restartPolicy", STRING, NULL),
    FIELD("terminationGracePeriodSeconds", INT64, NULL),
    FIELD("activeDeadlineSeconds", INT64, NULL),
    FIELD("dnsPolicy", STRING, NULL),
    FIELD("nodeSelector", STRING_MAP, NULL),
    FIELD("serviceAccountName", STRING, NULL),
    FIELD("serviceAccount", STRING, NULL),
    FIELD("automountServiceAccountToken", BOOL, NULL),
    FIELD("nodeName", STRING, NULL),
    FIELD("hostNetwork", BOOL, NULL),
    FIELD("hostPID", BOOL, NULL),
    FIELD("hostIPC", BOOL, NULL),
    FIELD("shareProcessNamespace", BOOL, NULL),
    FIELD("securityContext", OBJECT, pod_security_fields),
    FIELD("imagePullSecrets", LIST, name_ref_fields),
    FIELD("hostname", STRING, NULL),
    FIELD("subdomain", STRING, NULL),
    FIELD("affinity", OBJECT, affinity_fields),
    FIELD("schedulerName", STRING, NULL),
    FIELD("tolerations", LIST, toleration_fields),
    FIELD("hostAliases", LIST, host_alias_fields),
    FIELD("priorityClassName", STRING, NULL),
    FIELD("priority", INT32, NULL),
    FIELD("dnsConfig", OBJECT, dns_config_fields),
    FIELD("readinessGates", LIST, readiness_gate_fields),
    FIELD("runtimeClassName", STRING, NULL),
    FIELD("enableServiceLinks", BOOL, NULL),
    FIELD("preemptionPolicy", STRING, NULL),
    FIELD("overhead", QUANTITY_MAP, NULL),
    FIELD("topologySpreadConstraints", LIST, spread_fields),
    FIELD("setHostnameAsFQDN", BOOL, NULL),
    FIELD("os", OBJECT, name_ref_fields),
    FIELD("hostUsers", BOOL, NULL),
    FIELD("schedulingGates", LIST, name_ref_fields),
    FIELD("resourceClaims", LIST, pod_claim_fields),
    FIELD("resources", OBJECT, resources_fields),
    FIELD("hostnameOverride", STRING, NULL),
    FIELDS_END,
};
static const struct field condition_fields[] = {
    FIELD("type", STRING, NULL),
    FIELD("observedGeneration", INT64, NULL),
    FIELD("status", STRING, NULL),
    FIELD("lastProbeTime", TIME, NULL),
    FIELD("lastTransitionTime", TIME, NULL),
    FIELD("reason", STRING, NULL),
    FIELD("message", STRING, NULL),
    FIELDS_END,
};
static const struct field ip_fields[] = {
    FIELD("ip", STRING, NULL),
    FIELDS_END,
};
static const struct field waiting_fields[] = {
    FIELD("reason", STRING, NULL),
    FIELD("message", STRING, NULL),
    FIELDS_END,
};
static const struct field running_fields[] = {
    FIELD("startedAt", TIME, NULL),
    FIELDS_END,
};
static const struct field terminated_fields[] = {
    FIELD("exitCode", INT32, NULL),     FIELD("signal", INT32, NULL),
    FIELD("reason", STRING, NULL),      FIELD("message", STRING, NULL),
    FIELD("startedAt", TIME, NULL),     FIELD("finishedAt", TIME, NULL),
    FIELD("containerID", STRING, NULL), FIELDS_END,
};
static const struct field state_fields[] = {
    FIELD("waiting", OBJECT, waiting_fields),
    FIELD("running", OBJECT, running_fields),
    FIELD("terminated", OBJECT, terminated_fields),
    FIELDS_END,
};
static const struct field linux_user_fields[] = {
    FIELD("uid", INT64, NULL),
    FIELD("gid", INT64, NULL),
    FIELD("supplementalGroups", INT64S, NULL),
    FIELDS_END,
};
static const struct field user_fields[] = {
    FIELD("linux", OBJECT, linux_user_fields),
    FIELDS_END,
};
static const struct field health_fields[] = {
    FIELD("resourceID", STRING, NULL),
    FIELD("health", STRING, NULL),
    FIELDS_END,
};
static const struct field resource_status_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("resources", LIST, health_fields),
    FIELDS_END,
};
static const struct field container_status_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("state", OBJECT, state_fields),
    FIELD("lastState", OBJECT, state_fields),
    FIELD("ready", BOOL, NULL),
    FIELD("restartCount", INT32, NULL),
    FIELD("image", STRING, NULL),
    FIELD("imageID", STRING, NULL),
    FIELD("containerID", STRING, NULL),
    FIELD("started", BOOL, NULL),
    FIELD("allocatedResources", QUANTITY_MAP, NULL),
    FIELD("resources", OBJECT, resources_fields),
    FIELD("volumeMounts", LIST, volume_mount_fields),
    FIELD("user", OBJECT, user_fields),
    FIELD("allocatedResourcesStatus", LIST, resource_status_fields),
    FIELD("stopSignal", STRING, NULL),
    FIELDS_END,
};
static const struct field claim_status_fields[] = {
    FIELD("name", STRING, NULL),
    FIELD("resourceClaimName", STRING, NULL),
    FIELDS_END,
};
static const struct field pod_status_fields[] = {
    FIELD("observedGeneration", INT64, NULL),
    FIELD("phase", STRING, NULL),
    FIELD("conditions", LIST, condition_fields),
    FIELD("message", STRING, NULL),
    FIELD("reason", STRING, NULL),
    FIELD("nominatedNodeName", STRING, NULL),
    FIELD("hostIP", STRING, NULL),
    FIELD("hostIPs", LIST, ip_fields),
    FIELD("podIP", STRING, NULL),
    FIELD("podIPs", LIST, ip_fields),
    FIELD("startTime", TIME, NULL),
    FIELD("initContainerStatuses", LIST, container_status_fields),
    FIELD("containerStatuses", LIST, container_status_fields),
    FIELD("qosClass", STRING, NULL),
    FIELD("ephemeralContainerStatuses", LIST, container_status_fields),
    FIELD("resize", STRING, NULL),
    FIELD("resourceClaimStatuses", LIST, claim_status_fields),
    FIELDS_END,
};
static const struct field pod_fields[] = {
    FIELD("kind", STRING, NULL),
    FIELD("apiVersion", STRING, NULL),
    FIELD("metadata", OBJECT, meta_fields),
    FIELD("spec", OBJECT, pod_spec_fields),
    FIELD("status", OBJECT, pod_status_fields),
    FIELDS_END,
};
