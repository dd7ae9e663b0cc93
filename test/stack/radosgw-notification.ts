// Bucket notifications of radosgw into RabbitMQ. The topic is made over the interface of Amazon's SNS, which the S3 client
// does not speak; its request is signed here. The exchange has to be there before (a durable topic exchange), and messages
// come with the topic's name as routing key.
//   ack-level  none: with `broker` a put takes a tenth of a second, and removing several objects ends the gateway
//   URL        without user and password, which radosgw refuses over plain HTTP; it takes guest:guest itself

import { createHash, createHmac } from 'node:crypto';
import { NotificationConfig, TopicConfig } from 'minio';
import type { Radosgw } from './radosgw.ts';

export interface AmqpTopic {
  /** Of RabbitMQ on this machine, without TLS. */
  readonly amqpPort: number;
  readonly exchange: string;
  /** Name of the topic, the routing key. */
  readonly topic: string;
}

export async function notifyAmqp(
  radosgw: Radosgw,
  bucket: string,
  { amqpPort, exchange, topic }: AmqpTopic,
): Promise<void> {
  const attributes = {
    'push-endpoint': `amqp://127.0.0.1:${amqpPort}`,
    'amqp-exchange': exchange,
    'amqp-ack-level': 'none',
  };
  const body = new URLSearchParams({ Action: 'CreateTopic', Name: topic });
  for (const [i, [key, value]] of Object.entries(attributes).entries()) {
    body.set(`Attributes.entry.${i + 1}.key`, key);
    body.set(`Attributes.entry.${i + 1}.value`, value);
  }
  const answer = await fetch(`http://${radosgw.host}:${radosgw.port}/`, signed(radosgw, body.toString()));
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`CreateTopic: ${answer.status} ${text}`);
  const config = new NotificationConfig();
  const queue = new TopicConfig(`arn:aws:sns:default::${topic}`);
  queue.setId(topic);
  queue.addEvent('s3:ObjectCreated:*');
  queue.addEvent('s3:ObjectRemoved:*');
  config.add(queue);
  await radosgw.client().setBucketNotification(bucket, config);
}

function signed({ host, port, accessKey, secretKey }: Radosgw, body: string): RequestInit {
  const time = new Date().toISOString().replace(/[-:]|\.\d+/g, '');
  const scope = `${time.slice(0, 8)}/us-east-1/sns/aws4_request`;
  const type = 'application/x-www-form-urlencoded';
  const hash = sha256(body);
  const names = 'content-type;host;x-amz-content-sha256;x-amz-date';
  const headers = `content-type:${type}\nhost:${host}:${port}\nx-amz-content-sha256:${hash}\nx-amz-date:${time}\n`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${sha256(`POST\n/\n\n${headers}\n${names}\n${hash}`)}`;
  const key = scope.split('/').reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secretKey}`);
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
  return {
    method: 'POST',
    headers: { 'content-type': type, 'x-amz-date': time, 'x-amz-content-sha256': hash, authorization },
    body,
  };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
