== evictions
p00-00/eviction p00-01/eviction p00-02/eviction p00-03/eviction p00-04/eviction annotated 0
5 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
5 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-03 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-04 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-05 leave alone, budget: ReplicaSet rs00: 10 of 10 replicas run, 5 may be missing, 5 are being changed; so it is for 4 more of its VPA's 10 pods {}
5 I "Evicted pod" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="3"} 10
updater_evictable_pods_total{update_mode="Recreate",vpa_size_log2="3"} 10
updater_evicted_pods_total{update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="3"} 5
updater_vpas_with_evictable_pods_total{update_mode="Recreate",vpa_size_log2="3"} 1
updater_vpas_with_evicted_pods_total{update_mode="Recreate",vpa_size_log2="3"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.01 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== evictions, every second refused
p00-00/eviction p00-01/eviction p00-02/eviction annotated 0
2 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
2 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 evict, refused by a PodDisruptionBudget: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-03 leave alone, budget: ReplicaSet rs00: 4 of 4 replicas run, 2 may be missing, 2 are being changed {}
2 I "Evicted pod" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
1 E "Failed to evict pod" err="disruption budget" namespace="n" pod="p00-##"
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="2"} 4
updater_evictable_pods_total{update_mode="Recreate",vpa_size_log2="2"} 4
updater_evicted_pods_total{update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 2
updater_failed_eviction_attempts_total{reason="EvictionError",update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
updater_vpas_with_evictable_pods_total{update_mode="Recreate",vpa_size_log2="2"} 1
updater_vpas_with_evicted_pods_total{update_mode="Recreate",vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.02 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.02 count{step="total"} 1
== evictions of pods that are others by now
p00-00/eviction p00-01/eviction p00-02/eviction annotated 0
> n/v00 p00-00 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-02 evict, dropped: it does not fit any more: cpu request 1 -> 2: below the lower bound 1500m {}
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="1"} 3
updater_evictable_pods_total{update_mode="Recreate",vpa_size_log2="1"} 3
updater_vpas_with_evictable_pods_total{update_mode="Recreate",vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.03 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.03 count{step="total"} 1
== resizes
p00-00/resize p00-01/resize annotated 2
2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu request 1 -> 2: below the lower bound 1500m
2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in place: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-00 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-02 leave alone, budget: ReplicaSet rs00: 5 of 5 replicas run, 2 may be missing, 2 are being changed; so it is for 2 more of its VPA's 5 pods {}
2 I "Resized pod in place" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
updater_controlled_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="2"} 5
updater_in_place_updatable_pods_total{vpa_size_log2="2"} 5
updater_in_place_updated_pods_total{vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 2
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="2"} 1
updater_vpas_with_in_place_updated_pods_total{vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.01 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== refused resizes and evictions
p00-00/resize p00-01/resize p00-00/eviction p00-01/eviction annotated 0
> n/v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-00 evict, refused by a PodDisruptionBudget: cpu request 1 -> 2: below the lower bound 1500m {}
2 E "Failed to resize pod in place" err="disruption budget" namespace="n" pod="p00-##"
2 E "Failed to evict pod" err="disruption budget" namespace="n" pod="p00-##"
updater_controlled_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="1"} 2
updater_failed_eviction_attempts_total{reason="EvictionError",update_mode="InPlaceOrRecreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 2
updater_failed_in_place_update_attempts_total{reason="InPlaceUpdateError",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 2
updater_in_place_updatable_pods_total{vpa_size_log2="1"} 2
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.04 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.04 count{step="total"} 1
== refused resizes
p00-00/resize p00-01/resize p00-02/resize p00-00/resize p00-01/resize p00-02/resize annotated 0
> n/v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower bound 1500m {}
6 E "Failed to resize pod in place" err="disruption budget" namespace="n" pod="p00-##"
updater_controlled_pods_total{update_mode="InPlace",vpa_size_log2="1"} 3
updater_failed_in_place_update_attempts_total{reason="InPlaceUpdateError",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 6
updater_in_place_updatable_pods_total{vpa_size_log2="1"} 3
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 2 sum{step="EvictPods"} 0.02 count{step="EvictPods"} 2 count{step="FilterPods"} 2 count{step="ListPods"} 2 count{step="ListVPAs"} 2 sum{step="total"} 0.02 count{step="total"} 2
== resizes of pods that are others by now
p00-00/resize p00-01/resize annotated 0
> n/v00 p00-00 resize, dropped: it does not fit any more: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 resize, dropped: it does not fit any more: cpu request 1 -> 2: below the lower bound 1500m {}
updater_controlled_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="1"} 2
updater_in_place_updatable_pods_total{vpa_size_log2="1"} 2
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.02 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.02 count{step="total"} 1
== an old server
p00-00/resize p00-00/eviction annotated 0
1 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
1 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 leave alone, budget: ReplicaSet rs00: 3 of 3 replicas run, 1 may be missing, 1 are being changed; so it is for 1 more of its VPA's 3 pods {}
1 E "Failed to resize pod in place" err="the server could not find the requested resource" namespace="n" pod="p00-##"
1 W "The API server has no pods/resize (Kubernetes before 1.33): pods of mode InPlaceOrRecreate are evicted, those of mode InPlace and boosted ones stay as they are"
1 I "Evicted pod" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
updater_controlled_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="1"} 3
updater_evicted_pods_total{update_mode="InPlaceOrRecreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 1
updater_failed_in_place_update_attempts_total{reason="InPlaceUpdateError",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 3
updater_in_place_updatable_pods_total{vpa_size_log2="1"} 3
updater_vpas_with_evicted_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="1"} 1
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.02 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.02 count{step="total"} 1
== an old server without evictions
p00-00/resize p00-01/resize p00-02/resize annotated 0
> n/v00 p00-00 resize, refused by the API server: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-00 leave alone, no-resizes: the API server has no pods/resize (Kubernetes before 1.33); so it is for 2 more of its VPA's 3 pods {}
3 E "Failed to resize pod in place" err="the server could not find the requested resource" namespace="n" pod="p00-##"
1 W "The API server has no pods/resize (Kubernetes before 1.33): pods of mode InPlaceOrRecreate are evicted, those of mode InPlace and boosted ones stay as they are"
updater_controlled_pods_total{update_mode="InPlace",vpa_size_log2="1"} 3
updater_failed_in_place_update_attempts_total{reason="InPlaceUpdateError",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 6
updater_in_place_updatable_pods_total{vpa_size_log2="1"} 3
updater_vpas_with_in_place_updatable_pods_total{vpa_size_log2="1"} 1
times: count{step="AdmissionInit"} 2 sum{step="EvictPods"} 0.01 count{step="EvictPods"} 2 count{step="FilterPods"} 2 count{step="ListPods"} 2 count{step="ListVPAs"} 2 sum{step="total"} 0.01 count{step="total"} 2
== nothing to resize
annotated 0
> n/v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}
updater_controlled_pods_total{update_mode="InPlace",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 1 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 count{step="total"} 1
== nothing to evict
annotated 0
> n/v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 1 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 count{step="total"} 1
== the deprecated mode
annotated 0
> n/v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h0m0s old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}
1 I "VPA uses the deprecated update mode Auto, use Recreate or InPlaceOrRecreate" namespace="n" vpa="v00"
updater_controlled_pods_total{update_mode="Auto",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 3 count{step="EvictPods"} 3 count{step="FilterPods"} 3 count{step="ListPods"} 3 count{step="ListVPAs"} 3 count{step="total"} 3
== boosts that are over
p00-00/resize p00-01/resize annotated 2
2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu request 1 -> 500m: its startup boost is over
2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in place: cpu request 1 -> 500m: its startup boost is over
> n/v00 p00-00 unboost, accepted: cpu request 1 -> 500m: its startup boost is over
> n/v00 p00-01 unboost, accepted: cpu request 1 -> 500m: its startup boost is over
> n/v00 leave alone, mode: mode Off: running pods are left alone
2 I "Resized pod in place" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 500m: its startup boost is over"
updater_controlled_pods_total{update_mode="Off",vpa_size_log2="2"} 4
updater_in_place_updated_pods_total{vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 2
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.01 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== boosts that are over and refused
p00-00/resize p00-01/resize annotated 0
> n/v00 p00-00 unboost, refused by the API server: cpu request 1 -> 2: its startup boost is over
> n/v00 leave alone, mode: mode Initial: only new pods get the recommendation
2 E "Failed to resize pod in place" err="disruption budget" namespace="n" pod="p00-##"
updater_controlled_pods_total{update_mode="Initial",vpa_size_log2="1"} 2
updater_failed_in_place_update_attempts_total{reason="UnboostError",vpa_name="v00",vpa_namespace="n",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.02 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.02 count{step="total"} 1
== boosts of which only the marker is left
annotated 2
> n/v00 leave alone, mode: mode Off: running pods are left alone
updater_controlled_pods_total{update_mode="Off",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 2 count{step="EvictPods"} 2 count{step="FilterPods"} 2 count{step="ListPods"} 2 count{step="ListVPAs"} 2 count{step="total"} 2
== boosts of which only the marker is left in a mode that evicts
annotated 2
> n/v00 p00-00 leave alone, boosted: the startup boost of the pod is not over yet; so it is for 1 more of its VPA's 2 pods {}
> n/v00 p00-00 leave alone, young: requests are within the bounds, and the pod is 1h1m0s old: it is looked at again after 12h0m0s; so it is for 1 more of its VPA's 2 pods {}
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 2 count{step="EvictPods"} 2 count{step="FilterPods"} 2 count{step="ListPods"} 2 count{step="ListVPAs"} 2 count{step="total"} 2
== boosts that are over in a mode that evicts
p00-00/resize p00-01/resize annotated 2
2 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu request 1 -> 2: its startup boost is over
2 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in place: cpu request 1 -> 2: its startup boost is over
> n/v00 p00-00 unboost, accepted: cpu request 1 -> 2: its startup boost is over
> n/v00 p00-01 unboost, accepted: cpu request 1 -> 2: its startup boost is over
> n/v00 p00-00 leave alone, boosted: the startup boost of the pod is not over yet; so it is for 3 more of its VPA's 4 pods {}
2 I "Resized pod in place" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: its startup boost is over"
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="2"} 4
updater_in_place_updated_pods_total{vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 2
updater_vpas_with_in_place_updated_pods_total{vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 sum{step="EvictPods"} 0.01 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== too few replicas
annotated 0
> n/v00 p00-00 leave alone, min-replicas: ReplicaSet rs00 has 2 live pods, minReplicas of the VPA asks for 3; so it is for 1 more of its VPA's 2 pods {}
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="1"} 2
times: count{step="AdmissionInit"} 1 count{step="EvictPods"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 count{step="total"} 1
== no token for another eviction
p00-00/eviction annotated 0
1 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
1 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-01 leave alone, rate: the limit of updates a second is used up: its turn comes in a later pass {}
> n/v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
1 I "Evicted pod" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="2"} 4
updater_evictable_pods_total{update_mode="Recreate",vpa_size_log2="2"} 4
updater_evicted_pods_total{update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
updater_failed_eviction_attempts_total{reason="EvictionRateLimiterWaitFailed",update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== no token for another resize
p00-00/resize annotated 1
1 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu request 1 -> 2: below the lower bound 1500m
1 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in place: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-01 leave alone, rate: the limit of updates a second is used up: its turn comes in a later pass {}
> n/v00 p00-00 resize, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
1 I "Resized pod in place" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
updater_controlled_pods_total{update_mode="InPlaceOrRecreate",vpa_size_log2="2"} 4
updater_failed_in_place_update_attempts_total{reason="InPlaceUpdateRateLimiterWaitFailed",vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
updater_in_place_updatable_pods_total{vpa_size_log2="2"} 4
updater_in_place_updated_pods_total{vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== no token for another end of a boost
p00-00/resize annotated 1
1 Normal Pod p00-##, InPlaceResizedByVPA: Pod was resized in place by VPA Updater.: cpu request 1 -> 500m: its startup boost is over
1 Normal VerticalPodAutoscaler v00, InPlaceResizedPod: VPA Updater resized Pod p00-## in place: cpu request 1 -> 500m: its startup boost is over
> n/v00 p00-00 unboost, accepted: cpu request 1 -> 500m: its startup boost is over
1 I "Resized pod in place" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 500m: its startup boost is over"
updater_controlled_pods_total{update_mode="Off",vpa_size_log2="2"} 4
updater_in_place_updated_pods_total{vpa_name="v00",vpa_namespace="n",vpa_size_log2="2"} 1
times: count{step="AdmissionInit"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 1
== panic in the middle
p00-00/eviction p00-01/eviction p00-02/eviction p00-03/eviction annotated 0
4 Normal Pod p00-##, EvictedByVPA: Pod was evicted by VPA Updater to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
4 Normal VerticalPodAutoscaler v00, EvictedPod: VPA Updater evicted Pod p00-## to apply resource recommendation.: cpu request 1 -> 2: below the lower bound 1500m
> n/v00 p00-00 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-01 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-02 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> n/v00 p00-03 evict, accepted: cpu request 1 -> 2: below the lower bound 1500m {}
> / do nothing, panic: ConfigMap vpa-panic exists
4 I "Evicted pod" namespace="n" pod="p00-##" vpa="v00" change="cpu request 1 -> 2: below the lower bound 1500m"
1 I "ConfigMap vpa-panic exists. Skipping update loop"
updater_controlled_pods_total{update_mode="Recreate",vpa_size_log2="3"} 8
updater_evictable_pods_total{update_mode="Recreate",vpa_size_log2="3"} 8
updater_evicted_pods_total{update_mode="Recreate",vpa_name="v00",vpa_namespace="n",vpa_size_log2="3"} 4
times: count{step="AdmissionInit"} 1 count{step="FilterPods"} 1 count{step="ListPods"} 1 count{step="ListVPAs"} 1 sum{step="total"} 0.01 count{step="total"} 2
== the mode Off
annotated 0
> n/v00 leave alone, mode: mode Off: running pods are left alone
1 I "No VPA objects to process"
times: count{step="ListVPAs"} 1 count{step="total"} 1
