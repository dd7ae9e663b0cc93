// A Kafka cluster in one process: librdkafka's mock cluster, which keeps everything in memory (about 5,000 messages a
// partition) and knows no administration, no TLS and no accounts.
//   kafka-mock serve BROKERS [TOPIC:PARTITIONS ..]   writes the addresses of its brokers, then obeys lines of stdin:
//       topic NAME PARTITIONS       makes a topic
//       fail API TIMES CODE         the next TIMES requests of that API key are answered with that error code
//       down BROKER | up BROKER     a broker goes away, comes back
//     each answered with a line `ok`; ends with stdin
//   kafka-mock read ADDRESSES TOPIC COUNT            writes the values of partition 0, one a line: what another client reads

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_MS 20000

static rd_kafka_t *client(rd_kafka_type_t type, const char *servers) {
  char why[512];
  rd_kafka_conf_t *conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "client.id", "kafka-mock", why, sizeof why);
  rd_kafka_conf_set(conf, "log_level", "3", why, sizeof why);
  if (servers) {
    rd_kafka_conf_set(conf, "bootstrap.servers", servers, why, sizeof why);
    rd_kafka_conf_set(conf, "group.id", "kafka-mock-read", why, sizeof why);
    rd_kafka_conf_set(conf, "check.crcs", "true", why, sizeof why);
  }
  rd_kafka_t *made = rd_kafka_new(type, conf, why, sizeof why);
  if (!made) fprintf(stderr, "%s\n", why);
  return made;
}

static int read_topic(const char *servers, const char *topic, int count) {
  rd_kafka_t *consumer = client(RD_KAFKA_CONSUMER, servers);
  if (!consumer) return 1;
  rd_kafka_topic_partition_list_t *at = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(at, topic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
  rd_kafka_assign(consumer, at);
  int seen = 0;
  while (seen < count) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, READ_MS);
    if (!message) break;
    if (message->err) fprintf(stderr, "%s\n", rd_kafka_message_errstr(message));
    else {
      printf("%.*s\n", (int)message->len, (const char *)message->payload);
      seen++;
    }
    rd_kafka_message_destroy(message);
  }
  rd_kafka_topic_partition_list_destroy(at);
  fflush(stdout);
  return seen == count ? 0 : 1;
}

static void fail(rd_kafka_mock_cluster_t *cluster, int api, int times, int code) {
  rd_kafka_resp_err_t *errors = calloc(times, sizeof *errors);
  for (int i = 0; i < times; i++) errors[i] = code;
  rd_kafka_mock_push_request_errors_array(cluster, api, times, errors);
  free(errors);
}

static int make_topic(rd_kafka_mock_cluster_t *cluster, const char *name, int partitions) {
  rd_kafka_resp_err_t error = rd_kafka_mock_topic_create(cluster, name, partitions, 1);
  if (error) fprintf(stderr, "topic %s: %s\n", name, rd_kafka_err2str(error));
  return error ? 1 : 0;
}

static int serve(int brokers, int topics, char **named) {
  rd_kafka_t *owner = client(RD_KAFKA_PRODUCER, NULL);
  rd_kafka_mock_cluster_t *cluster = owner ? rd_kafka_mock_cluster_new(owner, brokers) : NULL;
  if (!cluster) return 1;
  for (int i = 0; i < topics; i++) {
    char *colon = strrchr(named[i], ':');
    if (!colon) return 1;
    *colon = 0;
    if (make_topic(cluster, named[i], atoi(colon + 1))) return 1;
  }
  printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  fflush(stdout);
  char line[512], name[256];
  int a, b, c;
  while (fgets(line, sizeof line, stdin)) {
    if (sscanf(line, "fail %d %d %d", &a, &b, &c) == 3) fail(cluster, a, b, c);
    else if (sscanf(line, "topic %255s %d", name, &a) == 2) make_topic(cluster, name, a);
    else if (sscanf(line, "down %d", &a) == 1) rd_kafka_mock_broker_set_down(cluster, a);
    else if (sscanf(line, "up %d", &a) == 1) rd_kafka_mock_broker_set_up(cluster, a);
    else fprintf(stderr, "unknown: %s", line);
    printf("ok\n");
    fflush(stdout);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 5 && !strcmp(argv[1], "read")) return read_topic(argv[2], argv[3], atoi(argv[4]));
  if (argc >= 3 && !strcmp(argv[1], "serve")) return serve(atoi(argv[2]), argc - 3, argv + 3);
  fprintf(stderr, "kafka-mock serve BROKERS [TOPIC:PARTITIONS ..] | read ADDRESSES TOPIC COUNT\n");
  return 2;
}
