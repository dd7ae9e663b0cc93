import { Readable } from 'node:stream';
import t from 'tap';
import { multipartBody } from '../../../../engine/adapters/plugins/plugin-http-requests.ts';

const signal = new AbortController().signal;

/** The bytes that went out for a file of these chunks, and the error that ended them. */
async function sent(chunks: readonly string[], size: number): Promise<{ text: string; error: unknown }> {
  const file = { name: 'a.txt', size, open: async () => Readable.from(chunks.map((chunk) => Buffer.from(chunk))) };
  const part = { name: 'payload', file, fileName: 'a.txt', contentType: 'text/plain' };
  const { stream } = multipartBody([part], signal);
  let text = '';
  try {
    for await (const chunk of stream) text += chunk;
  } catch (error) {
    return { text, error };
  }
  return { text, error: undefined };
}

t.test('of a file that is longer than was announced no byte goes out beyond its size', async (t) => {
  const { text, error } = await sent(['half', 'half', 'DELETE / HTTP/1.1', 'and more'], 8);
  t.match(text, /\r\n\r\nhalfhalf$/);
  t.match(error, { kind: 'defect', message: "'a.txt' has more bytes than its 8" });
});

t.test('a file that is shorter than was announced ends the body before its last boundary', async (t) => {
  const { text, error } = await sent(['half'], 8);
  t.match(text, /\r\n\r\nhalf$/);
  t.match(error, { kind: 'defect', message: "'a.txt' has fewer bytes than its 8" });
});
