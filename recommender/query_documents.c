/*
 * Texts with ' for ", which stands in none of them. Both forms of OpenAPI hold the same schemas and
 * differ in where a reference points to.
 */
#include "query_documents.h"

#include <stdlib.h>
#include <string.h>

#include "query_object.h"

#include "vpa/base/mem.h"
#include "vpa/base/table.h"

#define VERSIONS "{'groupVersion':'" QUERY_API_VERSION "','version':'" QUERY_VERSION "'}"
#define GROUP_MEMBERS                                                                              \
    "'name':'" QUERY_GROUP "','versions':[" VERSIONS "],'preferredVersion':" VERSIONS
#define GVK "{'group':'" QUERY_GROUP "','version':'" QUERY_VERSION "','kind':'" QUERY_KIND "'}"
#define COLLECTION "/apis/" QUERY_API_VERSION "/namespaces/{namespace}/" QUERY_RESOURCE
#define V3_PATH "/openapi/v3/apis/" QUERY_API_VERSION

#define ANYTHING "'type':'object','x-kubernetes-preserve-unknown-fields':true"
#define TEXT(what) "{'type':'string','description':'" what "'}"
#define SCHEMA "io.k8s.autoscaling.recommendation." QUERY_VERSION "."
#define OBJECT(what, members)                                                                      \
    "{'type':'object','description':'" what "','properties':{" members "}}"
#define RESOURCES                                                                                  \
    "{'type':'object','description':'As in the container of a pod; limits are never set.',"        \
    "'properties':{'requests':{'type':'object','description':'Amounts by the name of the "         \
    "resource.','additionalProperties':{'type':'string'}}}}"

/* ---- the schemas; ref is where references point to ---- */

#define MEMBER(name, schema) "'" SCHEMA name "':" schema
#define VERSION_MEMBER "'apiVersion':" TEXT(QUERY_API_VERSION)
#define KIND_MEMBER "'kind':" TEXT(QUERY_KIND)
#define META_MEMBER                                                                                \
    "'metadata':{" ANYTHING ",'description':'Standard object metadata, given back as it came.'}"
#define QUERY_MEMBERS(ref)                                                                         \
    VERSION_MEMBER "," KIND_MEMBER "," META_MEMBER ",'spec':{'$ref':'" ref SCHEMA                  \
                   "RecommendationQuerySpec'},'status':{'$ref':'" ref SCHEMA                       \
                   "RecommendationQueryStatus'}"
#define QUERY(ref)                                                                                 \
    "{'type':'object','description':'A pod, existing or not, and what its containers are "         \
    "recommended now. It is created, answered and never stored.','required':['spec'],"             \
    "'properties':{" QUERY_MEMBERS(ref) "},'x-kubernetes-group-version-kind':[" GVK "]}"
#define POD                                                                                        \
    "{" ANYTHING ",'description':'A core/v1 Pod. Read are its namespace, name, generateName, "     \
    "labels and ownerReferences, and the names of its containers; all of it is given back as it "  \
    "came.'}"
#define SPEC                                                                                       \
    "{'type':'object','description':'The question.','required':['pod'],'properties':{'pod':" POD   \
    "}}"
#define ERROR_MEMBER "'error':" TEXT("Why there is no recommendation.")
#define STATUS_MEMBERS(ref)                                                                        \
    "'recommendation':{'$ref':'" ref SCHEMA "RecommendedPodResources'}," ERROR_MEMBER
#define CONTAINERS(ref)                                                                            \
    "'containerRecommendations':{'type':'array','description':'In the order of the containers of " \
    "the pod; those without a recommendation are left out.','items':{'$ref':'" ref SCHEMA          \
    "RecommendedContainerResources'}}"
#define NAME_MEMBER "'name':" TEXT("Name of the container.")
#define CONTAINER_MEMBERS                                                                          \
    NAME_MEMBER ",'target':" RESOURCES ",'minRecommended':" RESOURCES ",'maxRecommended'"          \
                ":" RESOURCES

#define STATUS(ref) OBJECT("The answer: either a recommendation or an error.", STATUS_MEMBERS(ref))
#define OF_POD(ref) OBJECT("What the containers are recommended.", CONTAINERS(ref))
#define OF_CONTAINER OBJECT("After post-processors and the policies of the VPA.", CONTAINER_MEMBERS)

#define QUERY_SCHEMA(ref) MEMBER("RecommendationQuery", QUERY(ref))
#define SPEC_SCHEMA MEMBER("RecommendationQuerySpec", SPEC)
#define STATUS_SCHEMA(ref) MEMBER("RecommendationQueryStatus", STATUS(ref))
#define POD_SCHEMA(ref) MEMBER("RecommendedPodResources", OF_POD(ref))
#define CONTAINER_SCHEMA MEMBER("RecommendedContainerResources", OF_CONTAINER)
#define SCHEMAS(ref)                                                                               \
    QUERY_SCHEMA(ref)                                                                              \
    "," SPEC_SCHEMA "," STATUS_SCHEMA(ref) "," POD_SCHEMA(ref) "," CONTAINER_SCHEMA

#define INFO "'info':{'title':'Plumb recommendations','version':'" QUERY_VERSION "'}"
#define ACTION                                                                                     \
    "'x-kubernetes-action':'post','x-kubernetes-group-version-kind':" GVK                          \
    ",'operationId':'createRecommendationAutoscalingV1alpha1NamespacedRecommendationQuery',"       \
    "'description':'ask what a pod is recommended'"

static const struct {
    const char *path, *text;
} documents[] = {
    {"/apis", "{'kind':'APIGroupList','apiVersion':'v1','groups':[{" GROUP_MEMBERS "}]}"},
    {"/apis/" QUERY_GROUP, "{'kind':'APIGroup','apiVersion':'v1'," GROUP_MEMBERS "}"},
    {"/apis/" QUERY_API_VERSION,
     "{'kind':'APIResourceList','apiVersion':'v1','groupVersion':'" QUERY_API_VERSION
     "','resources':[{'name':'" QUERY_RESOURCE "','singularName':'recommendationquery',"
     "'namespaced':true,'kind':'" QUERY_KIND "','verbs':['create']}]}"},
    {"/openapi/v2",
     "{'swagger':'2.0'," INFO ",'paths':{'" COLLECTION
     "':{'parameters':[{'name':'namespace','in':'path','required':true,'type':'string'}],"
     "'post':{" ACTION ",'consumes':['application/json'],'produces':['application/json'],"
     "'schemes':['https'],'parameters':[{'name':'body','in':'body','required':true,'schema':{"
     "'$ref':'#/definitions/" SCHEMA "RecommendationQuery'}}],'responses':{'201':{"
     "'description':'Created','schema':{'$ref':'#/definitions/" SCHEMA
     "RecommendationQuery'}}}}}},'definitions':{" SCHEMAS("#/definitions/") "}}"},
    {V3_PATH, "{'openapi':'3.0.0'," INFO ",'paths':{'" COLLECTION
              "':{'parameters':[{'name':'namespace','in':'path','required':true,'schema':{'type':"
              "'string'}}],'post':{" ACTION ",'requestBody':{'required':true,'content':{"
              "'application/json':{'schema':{'$ref':'#/components/schemas/" SCHEMA
              "RecommendationQuery'}}}},'responses':{'201':{'description':'Created','content':{"
              "'application/json':{'schema':{'$ref':'#/components/schemas/" SCHEMA
              "RecommendationQuery'}}}}}}}},'components':{'schemas':{" SCHEMAS(
                  "#/components/schemas/") "}}}"},
};

static char *with_quotes(const char *text)
{
    char *copy = vpa_xstrdup(text);

    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    return copy;
}

static const char *find(const char *path)
{
    for (size_t i = 0; i < VPA_COUNT(documents); i++)
        if (strcmp(documents[i].path, path) == 0)
            return documents[i].text;
    return NULL;
}

/* The address changes with the text, so that clients may keep it. */
static char *index_of_v3(void)
{
    return vpa_xprintf("{\"paths\":{\"apis/" QUERY_API_VERSION
                       "\":{\"serverRelativeURL\":\"" V3_PATH "?hash=%08X\"}}}",
                       vpa_hash_stable(find(V3_PATH)));
}

char *query_document(const char *path)
{
    const char *text = find(path);

    if (strcmp(path, "/openapi/v3") == 0)
        return index_of_v3();
    return text ? with_quotes(text) : NULL;
}
