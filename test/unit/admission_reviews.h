/* Pods under review and the VPAs beside them, as JSON with ' for ", for tests of the webhook. */
#ifndef TEST_ADMISSION_REVIEWS_H
#define TEST_ADMISSION_REVIEWS_H

#define STATEFUL_SET                                                                               \
    "{'metadata':{'name':'web','namespace':'ns'},'spec':{'selector':{'matchLabels':{'app':'web'}}" \
    "}}"
#define VPA(more)                                                                                  \
    "{'metadata':{'name':'v','namespace':'ns'},'spec':{'targetRef':{'kind':'StatefulSet','name':"  \
    "'web','apiVersion':'apps/v1'}" more "},'status':{'recommendation':{"                          \
    "'containerRecommendations':[{'containerName':'c','target':{'cpu':'2'}}]}}}"
#define POD(more)                                                                                  \
    "{'metadata':{'generateName':'web-','namespace':'ns','labels':{'app':'web'}" more              \
    ",'ownerReferences':[{'kind':'StatefulSet','name':'web','apiVersion':'apps/v1','controller':"  \
    "true}]},'spec':{'containers':[{'name':'c'}]}}"
#define POD_REVIEW_WITH(more, pod)                                                                 \
    "{'request':{'uid':'u','namespace':'ns','resource':{'group':'','version':'v1','resource':"     \
    "'pods'},'requestKind':{'kind':'Pod'},'operation':'CREATE'" more ",'object':" pod "}}"
#define POD_REVIEW(pod) POD_REVIEW_WITH("", pod)
#define DB_TARGET "{'apiVersion':'apps/v1','kind':'StatefulSet','name':'db'}"
#define BAD_VPA(target)                                                                            \
    "{'metadata':{'name':'bad','namespace':'ns'},'spec':{" target                                  \
    "'resourcePolicy':{'containerPolicies':[{'containerName':'*','minAllowed':{'cpu':'1e1.5'}}]}}" \
    "}"
/* Many for the same pod: the oldest governs it. */
#define AGED(name, year)                                                                           \
    "{'metadata':{'name':'" name "','namespace':'ns','creationTimestamp':'" year                   \
    "-01-01T00:00:00Z'},'spec':{'targetRef':{'kind':'StatefulSet','name':'web','apiVersion':"      \
    "'apps/v1'}},'status':{'recommendation':{'containerRecommendations':[{'containerName':'c',"    \
    "'target':{'cpu':'2'}}]}}}"
#define BY_LABELS(year)                                                                            \
    "{'metadata':{'name':'s','namespace':'ns','creationTimestamp':'" year                          \
    "-01-01T00:00:00Z'},'spec':{'selector':{'matchLabels':{'app':'web'}}}}"
#define OF_DB(year)                                                                                \
    "{'metadata':{'name':'d','namespace':'ns','creationTimestamp':'" year                          \
    "-01-01T00:00:00Z'},'spec':{'targetRef':" DB_TARGET "}}"
#define POD_OF(kind, owner)                                                                        \
    "{'metadata':{'name':'p','namespace':'ns','labels':{'app':'web'},'ownerReferences':[{'kind':"  \
    "'" kind "','name':'" owner                                                                    \
    "','apiVersion':'apps/v1','controller':true}]},'spec':{'containers':[{'name':'c'}]}}"

#endif
