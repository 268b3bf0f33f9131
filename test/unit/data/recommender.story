== a first recommendation
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app [{"op":"replace","path":"/status","value":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.07074472305289221},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:01:00Z","totalSamplesCount":1}},{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"2ebbf1fb\",\"end\":\"2026-01-16T12:01:00Z\",\"peaks\":[[109942557,1073741824]]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}}]
201 POST shop/verticalpodautoscalercheckpoints {"kind":"VerticalPodAutoscalerCheckpoint","apiVersion":"autoscaling.k8s.io/v1","metadata":{"name":"web-app","annotations":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"2ebbf1fb\",\"end\":\"2026-01-16T12:01:00Z\",\"peaks\":[[109942557,1073741824]]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}},"spec":{"vpaObjectName":"web","containerName":"app"},"status":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.07074472305289221},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:01:00Z","totalSamplesCount":1}}
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"1784908735775"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app [{"op":"replace","path":"/status","value":{"lastUpdateTime":"2026-01-15T12:02:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.14152350743157088},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:02:00Z","totalSamplesCount":2}}]
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
quality_cpu_recommendation_lower_equal_usage_diffs_cores_sum{recommendation_missing="true",update_mode=""} 1
quality_cpu_recommendation_lower_equal_usage_diffs_cores_count{recommendation_missing="true",update_mode=""} 1
quality_cpu_recommendation_over_usage_diffs_cores_sum{recommendation_missing="false",update_mode=""} 0.16799999999999993
quality_cpu_recommendation_over_usage_diffs_cores_count{recommendation_missing="false",update_mode=""} 1
quality_cpu_recommendations_cores_sum{update_mode=""} 1.168
quality_cpu_recommendations_cores_count{update_mode=""} 1
quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom="false",recommendation_missing="true",update_mode=""} 1.073741824e+09
quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom="false",recommendation_missing="true",update_mode=""} 1
quality_mem_recommendation_over_usage_diffs_bytes_sum{is_oom="false",recommendation_missing="false",update_mode=""} 1.64917951e+08
quality_mem_recommendation_over_usage_diffs_bytes_count{is_oom="false",recommendation_missing="false",update_mode=""} 1
quality_mem_recommendations_bytes_sum{is_oom="false",update_mode=""} 1.238659775e+09
quality_mem_recommendations_bytes_count{is_oom="false",update_mode=""} 1
quality_relative_recommendation_changes_count{resource="cpu",update_mode="",vpa_size_log2="0"} 1
quality_relative_recommendation_changes_count{resource="memory",update_mode="",vpa_size_log2="0"} 1
quality_usage_recommendation_relative_diffs_sum{is_oom="false",resource="cpu",update_mode=""} -0.1438356164383561
quality_usage_recommendation_relative_diffs_count{is_oom="false",resource="cpu",update_mode=""} 1
quality_usage_recommendation_relative_diffs_sum{is_oom="false",resource="memory",update_mode=""} -0.13314225126911866
quality_usage_recommendation_relative_diffs_count{is_oom="false",resource="memory",update_mode=""} 1
quality_usage_sample_missing_recommendation_count{is_oom="false",resource="cpu",update_mode=""} 1
quality_usage_sample_missing_recommendation_count{is_oom="false",resource="memory",update_mode=""} 1
recommender_aggregate_container_states_count 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 1.238659775e+09
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_served_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_measure_slack{algorithm="vpa",resource="cpu"} 0.1438356164383561
recommender_measure_slack{algorithm="vpa",resource="memory"} 0.13314225126911866
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_used_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== nothing is used
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"25m","memory":"250Mi"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"25m","memory":"250Mi"},"uncappedTarget":{"cpu":"25m","memory":"250Mi"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app [{"op":"replace","path":"/status","value":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":null},"memoryHistogram":{"referenceTimestamp":null},"firstSampleStart":null,"lastSampleStart":null}},{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"510ea166\",\"end\":null,\"peaks\":[]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}}]
201 POST shop/verticalpodautoscalercheckpoints {"kind":"VerticalPodAutoscalerCheckpoint","apiVersion":"autoscaling.k8s.io/v1","metadata":{"name":"web-app","annotations":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"510ea166\",\"end\":null,\"peaks\":[]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}},"spec":{"vpaObjectName":"web","containerName":"app"},"status":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":null},"memoryHistogram":{"referenceTimestamp":null},"firstSampleStart":null,"lastSampleStart":null}}
--
200 /apis/metrics.k8s.io/v1beta1/pods
--
> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; RecommendationProvided is True {}
quality_relative_recommendation_changes_count{resource="cpu",update_mode="",vpa_size_log2="0"} 1
quality_relative_recommendation_changes_count{resource="memory",update_mode="",vpa_size_log2="0"} 1
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== usage that moves
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"126m","memory":"250Mi"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"126m","memory":"250Mi"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"2406m","memory":"3861631195"},"lowerBound":{"cpu":"404m","memory":"648621203"},"upperBound":{"cpu":"3467046m","memory":"5564610551995"},"uncappedTarget":{"cpu":"2406m","memory":"3861631195"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
> shop/web recommend, first: cpu target none -> 126m; memory target none -> 250Mi; RecommendationProvided is True {}
> shop/web recommend, a target moved by a tenth or more: cpu target 126m -> 2406m; memory target 250Mi -> 3861631195 {}
recommender_aggregate_container_states_count 1
recommender_measure_changes_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_changes_total{algorithm="vpa",resource="memory"} 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 0.126
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 2.62144e+08
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 0.126
recommender_measure_served_total{algorithm="vpa",resource="memory"} 2.62144e+08
recommender_measure_unserved{algorithm="vpa",resource="cpu"} 0.937
recommender_measure_unserved{algorithm="vpa",resource="memory"} 0.9186197916666666
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 2
recommender_measure_used_total{algorithm="vpa",resource="memory"} 3.221225472e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== a status that cannot be written
200 /apis/metrics.k8s.io/v1beta1/pods
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"1784908735775"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:02:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
1 E "Cannot update VPA" err="refused" failures=1 first="shop/web"
recommender_aggregate_container_states_count 1
recommender_failures_total{message="Cannot update VPA"} 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 1.238659775e+09
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_served_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_measure_slack{algorithm="vpa",resource="cpu"} 0.1438356164383561
recommender_measure_slack{algorithm="vpa",resource="memory"} 0.13314225126911866
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_used_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 14580
recommender_recommendation_latency_seconds_count 2
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== a status that may not be written
200 /apis/metrics.k8s.io/v1beta1/pods
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
1 E "Cannot update VPA" err="refused" failures=1 first="shop/web"
recommender_aggregate_container_states_count 1
recommender_failures_total{message="Cannot update VPA"} 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
== a checkpoint that cannot be written
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"1784908735775"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
1 E "Cannot save checkpoint for VPA" err="refused" failures=1 first="shop/web-app"
recommender_aggregate_container_states_count 1
recommender_failures_total{message="Cannot save checkpoint for VPA"} 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 1.238659775e+09
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_served_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_measure_slack{algorithm="vpa",resource="cpu"} 0.1438356164383561
recommender_measure_slack{algorithm="vpa",resource="memory"} 0.13314225126911866
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_used_total{algorithm="vpa",resource="memory"} 1.073741824e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== a kill for memory
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"380258472"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"380258472"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app [{"op":"replace","path":"/status","value":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.07074472305289221},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:01:00Z","totalSamplesCount":1}},{"op":"test","path":"/metadata/annotations","value":null},{"op":"add","path":"/metadata/annotations","value":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"2ebbf1fb\",\"end\":\"2026-01-16T12:01:00Z\",\"peaks\":[[109942557,314572800]]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}}]
201 POST shop/verticalpodautoscalercheckpoints {"kind":"VerticalPodAutoscalerCheckpoint","apiVersion":"autoscaling.k8s.io/v1","metadata":{"name":"web-app","annotations":{"vpa.autoscaling.k8s.io/open-memory-intervals":"{\"history\":\"2ebbf1fb\",\"end\":\"2026-01-16T12:01:00Z\",\"peaks\":[[109942557,314572800]]}","vpa.autoscaling.k8s.io/history-target":"Deployment/web"}},"spec":{"vpaObjectName":"web","containerName":"app"},"status":{"lastUpdateTime":"2026-01-15T12:01:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.07074472305289221},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:01:00Z","totalSamplesCount":1}}
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1555165137"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"2240992962417"},"uncappedTarget":{"cpu":"1168m","memory":"1555165137"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app [{"op":"replace","path":"/status","value":{"lastUpdateTime":"2026-01-15T12:02:00Z","version":"v3","cpuHistogram":{"referenceTimestamp":"2026-01-16T00:00:00Z","bucketWeights":{"36":10000},"totalWeight":0.14152350743157088},"memoryHistogram":{"referenceTimestamp":"2026-01-17T00:00:00Z"},"firstSampleStart":"2026-01-15T12:01:00Z","lastSampleStart":"2026-01-15T12:02:00Z","totalSamplesCount":2}},{"op":"add","path":"/metadata/annotations/vpa.autoscaling.k8s.io~1open-memory-intervals","value":"{\"history\":\"2ebbf1fb\",\"end\":\"2026-01-16T12:01:00Z\",\"peaks\":[[109942557,314572800,0,1288490188]]}"}]
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 380258472; RecommendationProvided is True {}
> shop/web recommend, a target moved by a tenth or more: memory target 380258472 -> 1555165137 {}
quality_cpu_recommendation_lower_equal_usage_diffs_cores_sum{recommendation_missing="true",update_mode=""} 1
quality_cpu_recommendation_lower_equal_usage_diffs_cores_count{recommendation_missing="true",update_mode=""} 1
quality_cpu_recommendation_over_usage_diffs_cores_sum{recommendation_missing="false",update_mode=""} 0.16799999999999993
quality_cpu_recommendation_over_usage_diffs_cores_count{recommendation_missing="false",update_mode=""} 1
quality_cpu_recommendations_cores_sum{update_mode=""} 1.168
quality_cpu_recommendations_cores_count{update_mode=""} 1
quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom="false",recommendation_missing="true",update_mode=""} 3.145728e+08
quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom="false",recommendation_missing="true",update_mode=""} 1
quality_mem_recommendation_lower_equal_usage_diffs_bytes_sum{is_oom="true",recommendation_missing="false",update_mode=""} 9.08231716e+08
quality_mem_recommendation_lower_equal_usage_diffs_bytes_count{is_oom="true",recommendation_missing="false",update_mode=""} 1
quality_mem_recommendation_over_usage_diffs_bytes_sum{is_oom="false",recommendation_missing="false",update_mode=""} 6.5685672e+07
quality_mem_recommendation_over_usage_diffs_bytes_count{is_oom="false",recommendation_missing="false",update_mode=""} 1
quality_mem_recommendations_bytes_sum{is_oom="false",update_mode=""} 3.80258472e+08
quality_mem_recommendations_bytes_count{is_oom="false",update_mode=""} 1
quality_mem_recommendations_bytes_sum{is_oom="true",update_mode=""} 3.80258472e+08
quality_mem_recommendations_bytes_count{is_oom="true",update_mode=""} 1
quality_relative_recommendation_changes_count{resource="cpu",update_mode="",vpa_size_log2="0"} 1
quality_relative_recommendation_changes_sum{resource="memory",update_mode="",vpa_size_log2="0"} 3.089758023852786
quality_relative_recommendation_changes_count{resource="memory",update_mode="",vpa_size_log2="0"} 1
quality_usage_recommendation_relative_diffs_sum{is_oom="false",resource="cpu",update_mode=""} -0.1438356164383561
quality_usage_recommendation_relative_diffs_count{is_oom="false",resource="cpu",update_mode=""} 1
quality_usage_recommendation_relative_diffs_sum{is_oom="false",resource="memory",update_mode=""} -0.17273953596489494
quality_usage_recommendation_relative_diffs_count{is_oom="false",resource="memory",update_mode=""} 1
quality_usage_recommendation_relative_diffs_sum{is_oom="true",resource="memory",update_mode=""} 2.388458858583958
quality_usage_recommendation_relative_diffs_count{is_oom="true",resource="memory",update_mode=""} 1
quality_usage_sample_missing_recommendation_count{is_oom="false",resource="cpu",update_mode=""} 1
quality_usage_sample_missing_recommendation_count{is_oom="false",resource="memory",update_mode=""} 1
recommender_aggregate_container_states_count 1
recommender_measure_changes_total{algorithm="vpa",resource="memory"} 1
recommender_measure_ooms_total{algorithm="vpa",resource="memory"} 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 3.80258472e+08
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_served_total{algorithm="vpa",resource="memory"} 3.145728e+08
recommender_measure_slack{algorithm="vpa",resource="cpu"} 0.1438356164383561
recommender_measure_slack{algorithm="vpa",resource="memory"} 0.17273953596489494
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_used_total{algorithm="vpa",resource="memory"} 3.145728e+08
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 3
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== the loser of a conflict
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalers/younger/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"},{"type":"TargetConflict","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z","message":"Pods of this VPA are controlled by the older VPA web"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
404 PATCH shop/verticalpodautoscalercheckpoints/younger-app 
201 POST shop/verticalpodautoscalercheckpoints 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/younger/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"1784908735775"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/younger-app 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
> shop/younger recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True; TargetConflict is True (Pods of this VPA are controlled by the older VPA web) {}
> shop/younger recommend, its conditions changed: RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 10920
recommender_recommendation_latency_seconds_count 2
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== a VPA that cannot be read
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
1 E "Skipping an object that cannot be used" err="spec.resourcePolicy: containerPolicies[0].minAllowed: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'" resource="verticalpodautoscalers" kind="VerticalPodAutoscaler" namespace="shop" name="web"
recommender_aggregate_container_states_count 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 1.238659775e+09
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 1.168
recommender_measure_served_total{algorithm="vpa",resource="memory"} 1.238659775e+09
recommender_measure_unserved{algorithm="vpa",resource="cpu"} 0.41600000000000004
recommender_measure_unserved{algorithm="vpa",resource="memory"} 0.42320409463718534
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 2
recommender_measure_used_total{algorithm="vpa",resource="memory"} 2.147483648e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 2
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 2
times: count{step="DeleteRemovedPods"} 2 count{step="GarbageCollect"} 2 count{step="LoadMetrics"} 2 count{step="LoadPods"} 2 count{step="LoadVPAs"} 2 count{step="MaintainCheckpoints"} 2 count{step="UpdateVPAs"} 2 count{step="total"} 2
== a VPA that is gone and its checkpoint
200 /api/v1/namespaces
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /api/v1/namespaces
200 /apis/metrics.k8s.io/v1beta1/pods
200 DELETE shop/verticalpodautoscalercheckpoints/web-app 
--
200 /api/v1/namespaces
200 /apis/metrics.k8s.io/v1beta1/pods
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 3
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
resources_get_resources_count{source="Pod.Spec.Containers"} 3
times: count{step="DeleteRemovedPods"} 3 count{step="GarbageCollect"} 3 count{step="LoadMetrics"} 3 count{step="LoadPods"} 3 count{step="LoadVPAs"} 3 count{step="MaintainCheckpoints"} 3 count{step="UpdateVPAs"} 3 count{step="total"} 3
== usage of strangers
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"25m","memory":"250Mi"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"25m","memory":"250Mi"},"uncappedTarget":{"cpu":"25m","memory":"250Mi"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; RecommendationProvided is True {}
1 E "Usage of containers that are not known" err="KeyError: {shop stranger}" failures=2 first="shop/stranger"
recommender_aggregate_container_states_count 1
recommender_failures_total{message="Usage of containers that are not known"} 2
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
== usage of strangers that are not tracked
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"25m","memory":"250Mi"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"25m","memory":"250Mi"},"uncappedTarget":{"cpu":"25m","memory":"250Mi"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 25m; memory target none -> 250Mi; RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
== VPAs that are measured
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"196m","memory":"250Mi"},"upperBound":{"cpu":"1683088m","memory":"1784908735775"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"2406m","memory":"2539377048"},"lowerBound":{"cpu":"394m","memory":"858361630"},"upperBound":{"cpu":"1734726m","memory":"1830890851608"},"uncappedTarget":{"cpu":"2406m","memory":"2539377048"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
> shop/web recommend, a target moved by a tenth or more: cpu target 1168m -> 2406m; memory target 1238659775 -> 2539377048 {}
recommender_aggregate_container_states_count 1
recommender_measure_changes_total{algorithm="vpa",resource="cpu"} 1
recommender_measure_changes_total{algorithm="vpa",resource="memory"} 1
recommender_measure_recommended_total{algorithm="vpa",resource="cpu"} 2.336
recommender_measure_recommended_total{algorithm="vpa",resource="memory"} 2.47731955e+09
recommender_measure_served_total{algorithm="vpa",resource="cpu"} 2.168
recommender_measure_served_total{algorithm="vpa",resource="memory"} 2.312401599e+09
recommender_measure_unserved{algorithm="vpa",resource="cpu"} 0.41600000000000004
recommender_measure_unserved{algorithm="vpa",resource="memory"} 0.42320409463718534
recommender_measure_used_total{algorithm="vpa",resource="cpu"} 3
recommender_measure_used_total{algorithm="vpa",resource="memory"} 3.221225472e+09
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 3
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_measure_changes_total{namespace="shop",resource="cpu",vpa="web"} 1
recommender_vpa_measure_changes_total{namespace="shop",resource="memory",vpa="web"} 1
recommender_vpa_measure_recommended_total{namespace="shop",resource="cpu",vpa="web"} 2.336
recommender_vpa_measure_recommended_total{namespace="shop",resource="memory",vpa="web"} 2.47731955e+09
recommender_vpa_measure_served_total{namespace="shop",resource="cpu",vpa="web"} 2.168
recommender_vpa_measure_served_total{namespace="shop",resource="memory",vpa="web"} 2.312401599e+09
recommender_vpa_measure_used_total{namespace="shop",resource="cpu",vpa="web"} 3
recommender_vpa_measure_used_total{namespace="shop",resource="memory",vpa="web"} 3.221225472e+09
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 3
times: count{step="DeleteRemovedPods"} 3 count{step="GarbageCollect"} 3 count{step="LoadMetrics"} 3 count{step="LoadPods"} 3 count{step="LoadVPAs"} 3 count{step="MaintainCheckpoints"} 3 count{step="UpdateVPAs"} 3 count{step="total"} 3
== a shadow
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
== recommendations for people
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1234803097600m"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"100000582546227200m"},"uncappedTarget":{"cpu":"1168m","memory":"1234803097600m"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1234803097600m; RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="true",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
== a pod that is gone
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
404 PATCH shop/verticalpodautoscalercheckpoints/web-app 
201 POST shop/verticalpodautoscalercheckpoints 
--
200 /apis/metrics.k8s.io/v1beta1/pods
200 PATCH shop/verticalpodautoscalers/web/status [{"op":"add","path":"/status","value":{"recommendation":{"containerRecommendations":[{"containerName":"app","target":{"cpu":"1168m","memory":"1238659775"},"lowerBound":{"cpu":"25m","memory":"250Mi"},"upperBound":{"cpu":"100G","memory":"97656250000Ki"},"uncappedTarget":{"cpu":"1168m","memory":"1238659775"}}]},"conditions":[{"type":"NoPodsMatched","status":"True","lastTransitionTime":"2026-01-15T12:02:00Z","reason":"NoPodsMatched","message":"No pods match this VPA object"},{"type":"RecommendationProvided","status":"True","lastTransitionTime":"2026-01-15T12:01:00Z"}],"observedGeneration":1}}]
200 PATCH shop/verticalpodautoscalercheckpoints/web-app 
--
200 /apis/metrics.k8s.io/v1beta1/pods
--
> shop/web recommend, first: cpu target none -> 1168m; memory target none -> 1238659775; RecommendationProvided is True {}
> shop/web recommend, its conditions changed: NoPodsMatched is True (No pods match this VPA object); RecommendationProvided is True {}
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 3
recommender_recommendation_latency_seconds_sum 7260
recommender_recommendation_latency_seconds_count 1
recommender_vpa_objects_count{api="v1",has_recommendation="true",matches_pods="false",unsupported_config="false",update_mode="Recreate"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 3 count{step="GarbageCollect"} 3 count{step="LoadMetrics"} 3 count{step="LoadPods"} 3 count{step="LoadVPAs"} 3 count{step="MaintainCheckpoints"} 3 count{step="UpdateVPAs"} 3 count{step="total"} 3
== no workers
200 /apis/metrics.k8s.io/v1beta1/pods
--
recommender_aggregate_container_states_count 1
recommender_metric_server_responses{client_name="default-metrics-client",is_error="false"} 1
resources_get_resources_count{source="Pod.Spec.Containers"} 1
times: count{step="DeleteRemovedPods"} 1 count{step="GarbageCollect"} 1 count{step="LoadMetrics"} 1 count{step="LoadPods"} 1 count{step="LoadVPAs"} 1 count{step="MaintainCheckpoints"} 1 count{step="UpdateVPAs"} 1 count{step="total"} 1
