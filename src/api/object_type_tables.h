/*
 * The members of a Pod and all that is in it, in the order of the Go structures (core/v1, 1.36),
 * which is also the order in which API servers write them, those of a review's response
 * (admission/v1) and of a VerticalPodAutoscaler (autoscaling.k8s.io/v1). Included by
 * object_types.c only.
 */
TABLE(name_value_fields, STRING(name), STRING(value));
TABLE(name_ref_fields, STRING(name));
TABLE(key_selector_fields, STRING(name), STRING(key), BOOL(optional));
TABLE(optional_ref_fields, STRING(name), BOOL(optional));
TABLE(expression_fields, STRING(key), STRING(operator), STRINGS(values));
TABLE(label_selector_fields, STRING_MAP(matchLabels), LIST(matchExpressions, expression_fields));
TABLE(node_term_fields, LIST(matchExpressions, expression_fields),
      LIST(matchFields, expression_fields));
TABLE(node_selector_fields, LIST(nodeSelectorTerms, node_term_fields));
TABLE(preferred_node_fields, INT32(weight), OBJECT(preference, node_term_fields));
TABLE(node_affinity_fields,
      OBJECT(requiredDuringSchedulingIgnoredDuringExecution, node_selector_fields),
      LIST(preferredDuringSchedulingIgnoredDuringExecution, preferred_node_fields));
TABLE(pod_term_fields, OBJECT(labelSelector, label_selector_fields), STRINGS(namespaces),
      STRING(topologyKey), OBJECT(namespaceSelector, label_selector_fields),
      STRINGS(matchLabelKeys), STRINGS(mismatchLabelKeys));
TABLE(preferred_pod_fields, INT32(weight), OBJECT(podAffinityTerm, pod_term_fields));
TABLE(pod_affinity_fields, LIST(requiredDuringSchedulingIgnoredDuringExecution, pod_term_fields),
      LIST(preferredDuringSchedulingIgnoredDuringExecution, preferred_pod_fields));
TABLE(affinity_fields, OBJECT(nodeAffinity, node_affinity_fields),
      OBJECT(podAffinity, pod_affinity_fields), OBJECT(podAntiAffinity, pod_affinity_fields));
TABLE(owner_fields, STRING(apiVersion), STRING(kind), STRING(name), STRING(uid), BOOL(controller),
      BOOL(blockOwnerDeletion));
TABLE(managed_fields_fields, STRING(manager), STRING(operation), STRING(apiVersion), TIME(time),
      STRING(fieldsType), ANY(fieldsV1), STRING(subresource));
TABLE(meta_fields, STRING(name), STRING(generateName), STRING(namespace), STRING(selfLink),
      STRING(uid), STRING(resourceVersion), INT64(generation), TIME(creationTimestamp),
      TIME(deletionTimestamp), INT64(deletionGracePeriodSeconds), STRING_MAP(labels),
      STRING_MAP(annotations), LIST(ownerReferences, owner_fields), STRINGS(finalizers),
      LIST(managedFields, managed_fields_fields));
TABLE(claim_fields, STRING(name), STRING(request));
TABLE(resources_fields, QUANTITY_MAP(limits), QUANTITY_MAP(requests), LIST(claims, claim_fields));
TABLE(port_fields, STRING(name), INT32(hostPort), INT32(containerPort), STRING(protocol),
      STRING(hostIP));
TABLE(env_from_fields, STRING(prefix), OBJECT(configMapRef, optional_ref_fields),
      OBJECT(secretRef, optional_ref_fields));
TABLE(field_ref_fields, STRING(apiVersion), STRING(fieldPath));
TABLE(resource_field_ref_fields, STRING(containerName), STRING(resource), QUANTITY(divisor));
TABLE(file_key_ref_fields, STRING(volumeName), STRING(path), STRING(key), BOOL(optional));
TABLE(env_source_fields, OBJECT(fieldRef, field_ref_fields),
      OBJECT(resourceFieldRef, resource_field_ref_fields),
      OBJECT(configMapKeyRef, key_selector_fields), OBJECT(secretKeyRef, key_selector_fields),
      OBJECT(fileKeyRef, file_key_ref_fields));
TABLE(env_fields, STRING(name), STRING(value), OBJECT(valueFrom, env_source_fields));
TABLE(resize_policy_fields, STRING(resourceName), STRING(restartPolicy));
TABLE(exit_codes_fields, STRING(operator), INT32S(values));
TABLE(restart_rule_fields, STRING(action), OBJECT(exitCodes, exit_codes_fields));
TABLE(volume_mount_fields, STRING(name), BOOL(readOnly), STRING(recursiveReadOnly),
      STRING(mountPath), STRING(subPath), STRING(mountPropagation), STRING(subPathExpr));
TABLE(volume_device_fields, STRING(name), STRING(devicePath));
TABLE(exec_fields, STRINGS(command));
TABLE(http_get_fields, STRING(path), INT_OR_STRING(port), STRING(host), STRING(scheme),
      LIST(httpHeaders, name_value_fields));
TABLE(tcp_socket_fields, INT_OR_STRING(port), STRING(host));
TABLE(grpc_fields, INT32(port), STRING(service));
TABLE(probe_fields, OBJECT(exec, exec_fields), OBJECT(httpGet, http_get_fields),
      OBJECT(tcpSocket, tcp_socket_fields), OBJECT(grpc, grpc_fields), INT32(initialDelaySeconds),
      INT32(timeoutSeconds), INT32(periodSeconds), INT32(successThreshold), INT32(failureThreshold),
      INT64(terminationGracePeriodSeconds));
TABLE(sleep_fields, INT64(seconds));
TABLE(handler_fields, OBJECT(exec, exec_fields), OBJECT(httpGet, http_get_fields),
      OBJECT(tcpSocket, tcp_socket_fields), OBJECT(sleep, sleep_fields));
TABLE(lifecycle_fields, OBJECT(postStart, handler_fields), OBJECT(preStop, handler_fields),
      STRING(stopSignal));
TABLE(capabilities_fields, STRINGS(add), STRINGS(drop));
TABLE(se_linux_fields, STRING(user), STRING(role), STRING(type), STRING(level));
TABLE(windows_fields, STRING(gmsaCredentialSpecName), STRING(gmsaCredentialSpec),
      STRING(runAsUserName), BOOL(hostProcess));
TABLE(profile_fields, STRING(type), STRING(localhostProfile));
TABLE(security_fields, OBJECT(capabilities, capabilities_fields), BOOL(privileged),
      OBJECT(seLinuxOptions, se_linux_fields), OBJECT(windowsOptions, windows_fields),
      INT64(runAsUser), INT64(runAsGroup), BOOL(runAsNonRoot), BOOL(readOnlyRootFilesystem),
      BOOL(allowPrivilegeEscalation), STRING(procMount), OBJECT(seccompProfile, profile_fields),
      OBJECT(appArmorProfile, profile_fields));
TABLE(container_fields, STRING(name), STRING(image), STRINGS(command), STRINGS(args),
      STRING(workingDir), LIST(ports, port_fields), LIST(envFrom, env_from_fields),
      LIST(env, env_fields), OBJECT(resources, resources_fields),
      LIST(resizePolicy, resize_policy_fields), STRING(restartPolicy),
      LIST(restartPolicyRules, restart_rule_fields), LIST(volumeMounts, volume_mount_fields),
      LIST(volumeDevices, volume_device_fields), OBJECT(livenessProbe, probe_fields),
      OBJECT(readinessProbe, probe_fields), OBJECT(startupProbe, probe_fields),
      OBJECT(lifecycle, lifecycle_fields), STRING(terminationMessagePath),
      STRING(terminationMessagePolicy), STRING(imagePullPolicy),
      OBJECT(securityContext, security_fields), BOOL(stdin), BOOL(stdinOnce), BOOL(tty),
      STRING(targetContainerName));
TABLE(pod_security_fields, OBJECT(seLinuxOptions, se_linux_fields),
      OBJECT(windowsOptions, windows_fields), INT64(runAsUser), INT64(runAsGroup),
      BOOL(runAsNonRoot), INT64S(supplementalGroups), STRING(supplementalGroupsPolicy),
      INT64(fsGroup), LIST(sysctls, name_value_fields), STRING(fsGroupChangePolicy),
      OBJECT(seccompProfile, profile_fields), OBJECT(appArmorProfile, profile_fields),
      STRING(seLinuxChangePolicy));
TABLE(toleration_fields, STRING(key), STRING(operator), STRING(value), STRING(effect),
      INT64(tolerationSeconds));
TABLE(host_alias_fields, STRING(ip), STRINGS(hostnames));
TABLE(dns_config_fields, STRINGS(nameservers), STRINGS(searches), LIST(options, name_value_fields));
TABLE(readiness_gate_fields, STRING(conditionType));
TABLE(spread_fields, INT32(maxSkew), STRING(topologyKey), STRING(whenUnsatisfiable),
      OBJECT(labelSelector, label_selector_fields), INT32(minDomains), STRING(nodeAffinityPolicy),
      STRING(nodeTaintsPolicy), STRINGS(matchLabelKeys));
TABLE(pod_claim_fields, STRING(name), STRING(resourceClaimName), STRING(resourceClaimTemplateName));
TABLE(key_path_fields, STRING(key), STRING(path), INT32(mode));
TABLE(host_path_fields, STRING(path), STRING(type));
TABLE(empty_dir_fields, STRING(medium), QUANTITY(sizeLimit));
TABLE(gce_disk_fields, STRING(pdName), STRING(fsType), INT32(partition), BOOL(readOnly));
TABLE(aws_disk_fields, STRING(volumeID), STRING(fsType), INT32(partition), BOOL(readOnly));
TABLE(git_repo_fields, STRING(repository), STRING(revision), STRING(directory));
TABLE(secret_volume_fields, STRING(secretName), LIST(items, key_path_fields), INT32(defaultMode),
      BOOL(optional));
TABLE(nfs_fields, STRING(server), STRING(path), BOOL(readOnly));
TABLE(iscsi_fields, STRING(targetPortal), STRING(iqn), INT32(lun), STRING(iscsiInterface),
      STRING(fsType), BOOL(readOnly), STRINGS(portals), BOOL(chapAuthDiscovery),
      BOOL(chapAuthSession), OBJECT(secretRef, name_ref_fields), STRING(initiatorName));
TABLE(glusterfs_fields, STRING(endpoints), STRING(path), BOOL(readOnly));
TABLE(pvc_source_fields, STRING(claimName), BOOL(readOnly));
TABLE(rbd_fields, STRINGS(monitors), STRING(image), STRING(fsType), STRING(pool), STRING(user),
      STRING(keyring), OBJECT(secretRef, name_ref_fields), BOOL(readOnly));
TABLE(flex_fields, STRING(driver), STRING(fsType), OBJECT(secretRef, name_ref_fields),
      BOOL(readOnly), STRING_MAP(options));
TABLE(cinder_fields, STRING(volumeID), STRING(fsType), BOOL(readOnly),
      OBJECT(secretRef, name_ref_fields));
TABLE(cephfs_fields, STRINGS(monitors), STRING(path), STRING(user), STRING(secretFile),
      OBJECT(secretRef, name_ref_fields), BOOL(readOnly));
TABLE(flocker_fields, STRING(datasetName), STRING(datasetUUID));
TABLE(downward_file_fields, STRING(path), OBJECT(fieldRef, field_ref_fields),
      OBJECT(resourceFieldRef, resource_field_ref_fields), INT32(mode));
TABLE(downward_fields, LIST(items, downward_file_fields), INT32(defaultMode));
TABLE(fibre_channel_fields, STRINGS(targetWWNs), INT32(lun), STRING(fsType), BOOL(readOnly),
      STRINGS(wwids));
TABLE(azure_file_fields, STRING(secretName), STRING(shareName), BOOL(readOnly));
TABLE(config_map_volume_fields, STRING(name), LIST(items, key_path_fields), INT32(defaultMode),
      BOOL(optional));
TABLE(vsphere_fields, STRING(volumePath), STRING(fsType), STRING(storagePolicyName),
      STRING(storagePolicyID));
TABLE(quobyte_fields, STRING(registry), STRING(volume), BOOL(readOnly), STRING(user), STRING(group),
      STRING(tenant));
TABLE(azure_disk_fields, STRING(diskName), STRING(diskURI), STRING(cachingMode), STRING(fsType),
      BOOL(readOnly), STRING(kind));
TABLE(photon_fields, STRING(pdID), STRING(fsType));
TABLE(token_projection_fields, STRING(audience), INT64(expirationSeconds), STRING(path));
TABLE(trust_bundle_fields, STRING(name), STRING(signerName),
      OBJECT(labelSelector, label_selector_fields), BOOL(optional), STRING(path));
TABLE(pod_certificate_fields, STRING(signerName), STRING(keyType), INT32(maxExpirationSeconds),
      STRING(credentialBundlePath), STRING(keyPath), STRING(certificateChainPath));
TABLE(projection_fields, OBJECT(secret, config_map_volume_fields),
      OBJECT(downwardAPI, downward_fields), OBJECT(configMap, config_map_volume_fields),
      OBJECT(serviceAccountToken, token_projection_fields),
      OBJECT(clusterTrustBundle, trust_bundle_fields),
      OBJECT(podCertificate, pod_certificate_fields));
TABLE(projected_fields, LIST(sources, projection_fields), INT32(defaultMode));
TABLE(portworx_fields, STRING(volumeID), STRING(fsType), BOOL(readOnly));
TABLE(scale_io_fields, STRING(gateway), STRING(system), OBJECT(secretRef, name_ref_fields),
      BOOL(sslEnabled), STRING(protectionDomain), STRING(storagePool), STRING(storageMode),
      STRING(volumeName), STRING(fsType), BOOL(readOnly));
TABLE(storage_os_fields, STRING(volumeName), STRING(volumeNamespace), STRING(fsType),
      BOOL(readOnly), OBJECT(secretRef, name_ref_fields));
TABLE(csi_fields, STRING(driver), BOOL(readOnly), STRING(fsType), STRING_MAP(volumeAttributes),
      OBJECT(nodePublishSecretRef, name_ref_fields));
TABLE(data_source_fields, STRING(apiGroup), STRING(kind), STRING(name), STRING(namespace));
TABLE(pvc_spec_fields, STRINGS(accessModes), OBJECT(selector, label_selector_fields),
      OBJECT(resources, resources_fields), STRING(volumeName), STRING(storageClassName),
      STRING(volumeMode), OBJECT(dataSource, data_source_fields),
      OBJECT(dataSourceRef, data_source_fields), STRING(volumeAttributesClassName));
TABLE(pvc_template_fields, OBJECT(metadata, meta_fields), OBJECT(spec, pvc_spec_fields));
TABLE(ephemeral_fields, OBJECT(volumeClaimTemplate, pvc_template_fields));
TABLE(image_volume_fields, STRING(reference), STRING(pullPolicy));
TABLE(volume_fields, STRING(name), OBJECT(hostPath, host_path_fields),
      OBJECT(emptyDir, empty_dir_fields), OBJECT(gcePersistentDisk, gce_disk_fields),
      OBJECT(awsElasticBlockStore, aws_disk_fields), OBJECT(gitRepo, git_repo_fields),
      OBJECT(secret, secret_volume_fields), OBJECT(nfs, nfs_fields), OBJECT(iscsi, iscsi_fields),
      OBJECT(glusterfs, glusterfs_fields), OBJECT(persistentVolumeClaim, pvc_source_fields),
      OBJECT(rbd, rbd_fields), OBJECT(flexVolume, flex_fields), OBJECT(cinder, cinder_fields),
      OBJECT(cephfs, cephfs_fields), OBJECT(flocker, flocker_fields),
      OBJECT(downwardAPI, downward_fields), OBJECT(fc, fibre_channel_fields),
      OBJECT(azureFile, azure_file_fields), OBJECT(configMap, config_map_volume_fields),
      OBJECT(vsphereVolume, vsphere_fields), OBJECT(quobyte, quobyte_fields),
      OBJECT(azureDisk, azure_disk_fields), OBJECT(photonPersistentDisk, photon_fields),
      OBJECT(projected, projected_fields), OBJECT(portworxVolume, portworx_fields),
      OBJECT(scaleIO, scale_io_fields), OBJECT(storageos, storage_os_fields),
      OBJECT(csi, csi_fields), OBJECT(ephemeral, ephemeral_fields),
      OBJECT(image, image_volume_fields));
TABLE(pod_spec_fields, LIST(volumes, volume_fields), LIST(initContainers, container_fields),
      LIST(containers, container_fields), LIST(ephemeralContainers, container_fields),
      STRING(restartPolicy), INT64(terminationGracePeriodSeconds), INT64(activeDeadlineSeconds),
      STRING(dnsPolicy), STRING_MAP(nodeSelector), STRING(serviceAccountName),
      STRING(serviceAccount), BOOL(automountServiceAccountToken), STRING(nodeName),
      BOOL(hostNetwork), BOOL(hostPID), BOOL(hostIPC), BOOL(shareProcessNamespace),
      OBJECT(securityContext, pod_security_fields), LIST(imagePullSecrets, name_ref_fields),
      STRING(hostname), STRING(subdomain), OBJECT(affinity, affinity_fields), STRING(schedulerName),
      LIST(tolerations, toleration_fields), LIST(hostAliases, host_alias_fields),
      STRING(priorityClassName), INT32(priority), OBJECT(dnsConfig, dns_config_fields),
      LIST(readinessGates, readiness_gate_fields), STRING(runtimeClassName),
      BOOL(enableServiceLinks), STRING(preemptionPolicy), QUANTITY_MAP(overhead),
      LIST(topologySpreadConstraints, spread_fields), BOOL(setHostnameAsFQDN),
      OBJECT(os, name_ref_fields), BOOL(hostUsers), LIST(schedulingGates, name_ref_fields),
      LIST(resourceClaims, pod_claim_fields), OBJECT(resources, resources_fields),
      STRING(hostnameOverride));
TABLE(condition_fields, STRING(type), INT64(observedGeneration), STRING(status),
      TIME(lastProbeTime), TIME(lastTransitionTime), STRING(reason), STRING(message));
TABLE(ip_fields, STRING(ip));
TABLE(waiting_fields, STRING(reason), STRING(message));
TABLE(running_fields, TIME(startedAt));
TABLE(terminated_fields, INT32(exitCode), INT32(signal), STRING(reason), STRING(message),
      TIME(startedAt), TIME(finishedAt), STRING(containerID));
TABLE(state_fields, OBJECT(waiting, waiting_fields), OBJECT(running, running_fields),
      OBJECT(terminated, terminated_fields));
TABLE(linux_user_fields, INT64(uid), INT64(gid), INT64S(supplementalGroups));
TABLE(user_fields, OBJECT(linux, linux_user_fields));
TABLE(health_fields, STRING(resourceID), STRING(health));
TABLE(resource_status_fields, STRING(name), LIST(resources, health_fields));
TABLE(container_status_fields, STRING(name), OBJECT(state, state_fields),
      OBJECT(lastState, state_fields), BOOL(ready), INT32(restartCount), STRING(image),
      STRING(imageID), STRING(containerID), BOOL(started), QUANTITY_MAP(allocatedResources),
      OBJECT(resources, resources_fields), LIST(volumeMounts, volume_mount_fields),
      OBJECT(user, user_fields), LIST(allocatedResourcesStatus, resource_status_fields),
      STRING(stopSignal));
TABLE(claim_status_fields, STRING(name), STRING(resourceClaimName));
TABLE(pod_status_fields, INT64(observedGeneration), STRING(phase),
      LIST(conditions, condition_fields), STRING(message), STRING(reason),
      STRING(nominatedNodeName), STRING(hostIP), LIST(hostIPs, ip_fields), STRING(podIP),
      LIST(podIPs, ip_fields), TIME(startTime),
      LIST(initContainerStatuses, container_status_fields),
      LIST(containerStatuses, container_status_fields), STRING(qosClass),
      LIST(ephemeralContainerStatuses, container_status_fields), STRING(resize),
      LIST(resourceClaimStatuses, claim_status_fields));
TABLE(pod_fields, STRING(kind), STRING(apiVersion), OBJECT(metadata, meta_fields),
      OBJECT(spec, pod_spec_fields), OBJECT(status, pod_status_fields));

TABLE(list_meta_fields, STRING(selfLink), STRING(resourceVersion), STRING(continue),
      INT64(remainingItemCount));
TABLE(cause_fields, STRING(reason), STRING(message), STRING(field));
TABLE(details_fields, STRING(name), STRING(group), STRING(kind), STRING(uid),
      LIST(causes, cause_fields), INT32(retryAfterSeconds));
TABLE(status_fields, STRING(kind), STRING(apiVersion), OBJECT(metadata, list_meta_fields),
      STRING(status), STRING(message), STRING(reason), OBJECT(details, details_fields),
      INT32(code));
TABLE(response_fields, STRING(uid), BOOL(allowed), OBJECT(status, status_fields), STRING(patch),
      STRING(patchType), STRING_MAP(auditAnnotations), STRINGS(warnings));
TABLE(target_fields, STRING(kind), STRING(name), STRING(apiVersion));
TABLE(requirement_fields, STRINGS(resources), STRING(changeRequirement));
TABLE(update_policy_fields, STRING(updateMode), INT32(minReplicas),
      LIST(evictionRequirements, requirement_fields), INT32(evictAfterOOMSeconds));
TABLE(cpu_boost_fields, STRING(type), INT32(factor), QUANTITY(quantity), INT32(durationSeconds));
TABLE(boost_fields, OBJECT(cpu, cpu_boost_fields));
TABLE(container_policy_fields, STRING(containerName), STRING(mode), QUANTITY_MAP(minAllowed),
      QUANTITY_MAP(maxAllowed), STRINGS(controlledResources), STRING(controlledValues),
      QUANTITY(oomBumpUpRatio), QUANTITY(oomMinBumpUp), INT32(memoryAggregationIntervalSeconds),
      INT64(memoryAggregationIntervalCount), OBJECT(startupBoost, boost_fields));
TABLE(resource_policy_fields, LIST(containerPolicies, container_policy_fields));
TABLE(vpa_spec_fields, OBJECT(targetRef, target_fields), OBJECT(updatePolicy, update_policy_fields),
      OBJECT(resourcePolicy, resource_policy_fields), LIST(recommenders, name_ref_fields),
      OBJECT(startupBoost, boost_fields));
TABLE(container_recommendation_fields, STRING(containerName), QUANTITY_MAP(target),
      QUANTITY_MAP(lowerBound), QUANTITY_MAP(upperBound), QUANTITY_MAP(uncappedTarget));
TABLE(recommendation_fields, LIST(containerRecommendations, container_recommendation_fields));
TABLE(vpa_condition_fields, STRING(type), STRING(status), TIME(lastTransitionTime), STRING(reason),
      STRING(message), INT64(observedGeneration));
TABLE(vpa_status_fields, OBJECT(recommendation, recommendation_fields),
      LIST(conditions, vpa_condition_fields), INT64(observedGeneration));
TABLE(vpa_fields, STRING(kind), STRING(apiVersion), OBJECT(metadata, meta_fields),
      OBJECT(spec, vpa_spec_fields), OBJECT(status, vpa_status_fields));
