import { randomFillSync } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import t from 'tap';
import { newWebhookId, newWebhookSecret, parseWebhookId, signedHeaders } from '../../../engine/model/webhook.ts';

const random = (bytes: Uint8Array<ArrayBuffer>) => randomFillSync(bytes);
const message = { id: 'msg_1', body: '{"type":"dataset.installed","data":{"name":"Größe ☃"}}' };

t.test('the library of a receiver accepts what we sign, and nothing else', async (t) => {
  const secret = newWebhookSecret(random);
  const headers = signedHeaders(message, [secret], Date.now());
  const receiver = new Webhook(secret);
  t.strictSame(receiver.verify(message.body, headers), JSON.parse(message.body));
  t.throws(() => receiver.verify(message.body.replace('ö', 'o'), headers), WebhookVerificationError);
  t.throws(() => receiver.verify(message.body, { ...headers, 'webhook-id': 'msg_2' }), WebhookVerificationError);
  t.throws(() => new Webhook(newWebhookSecret(random)).verify(message.body, headers), WebhookVerificationError);
  const old = signedHeaders(message, [secret], Date.now() - 3_600_000);
  t.throws(() => receiver.verify(message.body, old), /timestamp too old/);
});

t.test('while a secret is replaced, receivers with either one accept the message', async (t) => {
  const [next, previous] = [newWebhookSecret(random), newWebhookSecret(random)];
  const headers = signedHeaders(message, [next, previous], Date.now());
  for (const secret of [next, previous])
    t.strictSame(new Webhook(secret).verify(message.body, headers), JSON.parse(message.body));
  t.match(headers['webhook-signature'], /^v1,\S+ v1,\S+$/);
});

t.test('an id is recognized, and nothing that only resembles one', async (t) => {
  const id = newWebhookId(random);
  t.equal(parseWebhookId(id), id);
  for (const text of ['', 'wh_', id.toUpperCase(), `${id}0`, id.slice(1), ` ${id}`])
    t.equal(parseWebhookId(text), undefined, text);
});
