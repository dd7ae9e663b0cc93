// What every UploadBytes does.

import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Test } from 'tap';
import { newUploadId } from '../../engine/model/ids.ts';
import { fileKey } from '../../engine/model/object-key.ts';
import type { ObjectStore } from '../../engine/ports/object-store.ts';
import type { ResumableUpload, UploadBytes } from '../../engine/ports/resumable-uploads.ts';
import { newAddress } from '../support/dataset-samples.ts';

export interface UploadBytesSetup {
  readonly bytes: UploadBytes;
  /** The store that the finished uploads go to. */
  readonly store: Pick<ObjectStore, 'get' | 'head'>;
  /** What the store keeps for resumable uploads, however it names it. */
  readonly kept: () => Promise<readonly string[]>;
}

const MIB = 1024 * 1024;

export function uploadBytesConformance(t: Test, setup: (t: Test) => Promise<UploadBytesSetup>): void {
  const signal = new AbortController().signal;
  const newUpload = (length: number): ResumableUpload => ({
    id: newUploadId((bytes) => Uint8Array.from(randomBytes(bytes.length))),
    owner: newAddress().owner,
    ...{ length, offset: 0, fileName: 'x', metadata: '', place: undefined, expiresMs: 0 },
  });

  /** Writes from the upload's offset; unless it is flushed, the process dies at the end. Returns the upload as recorded. */
  const write = async (
    bytes: UploadBytes,
    upload: ResumableUpload,
    content: Buffer,
    ending: 'flushed' | 'killed' = 'flushed',
  ): Promise<ResumableUpload> => {
    await using writer = await bytes.open(upload, signal);
    for (let at = 0; at < content.length; at += 100_000) await writer.write(content.subarray(at, at + 100_000), signal);
    if (ending === 'flushed') await writer.flush(signal);
    return { ...upload, offset: writer.durable, place: writer.place };
  };

  const fact = (what: string, check: (t: Test, world: UploadBytesSetup) => Promise<void>): void => {
    t.test(what, async (t) => check(t, await setup(t)));
  };

  /** Hands it over and compares; then removes it. */
  const demandContent = async (t: Test, world: UploadBytesSetup, upload: ResumableUpload, content: Buffer) => {
    const key = fileKey(newAddress(), 'raw', 'data.bin');
    await world.bytes.handOver(upload, key, signal);
    const opened = await world.store.get(key, undefined, signal);
    if (!opened) throw new Error(`${key} is missing`);
    t.equal(digest(await buffer(opened.body)), digest(content));
    await world.bytes.remove(upload.id, signal);
    t.strictSame(await world.kept(), []);
    t.equal((await world.store.head(key, signal))?.size, content.length, 'the object does not depend on the upload');
  };

  // 8 MiB are a part of a multipart upload.
  for (const length of [0, 1, 3 * MIB, 8 * MIB, 8 * MIB + 1, 16 * MIB, 20 * MIB + 7])
    fact(`an upload of ${length} bytes in one piece`, async (t, world) => {
      const content = randomBytes(length);
      const upload = await write(world.bytes, newUpload(length), content);
      t.equal(upload.offset, length);
      await demandContent(t, world, upload, content);
    });

  fact('an upload that is continued at any byte', async (t, world) => {
    const content = randomBytes(20 * MIB);
    let upload = newUpload(content.length);
    const ends = [1, 2, 5 * MIB, 8 * MIB, 8 * MIB + 1, 15 * MIB, 16 * MIB, 16 * MIB + 9, content.length];
    for (const end of ends) {
      upload = await write(world.bytes, upload, content.subarray(upload.offset, end));
      t.equal(upload.offset, end);
    }
    await demandContent(t, world, upload, content);
  });

  fact(
    'a process that is killed loses 32 MiB at most, and what it wrote behind the recorded offset',
    async (t, world) => {
      const content = randomBytes(100 * MIB);
      let upload = await write(world.bytes, newUpload(content.length), content.subarray(0, 3 * MIB));
      const other = Buffer.alloc(60 * MIB, 'other');
      const beyond = await write(world.bytes, upload, other, 'killed');
      t.ok(beyond.offset <= upload.offset + other.length && beyond.offset >= upload.offset + other.length - 33 * MIB);
      // Of the attempt before, only its place was recorded.
      upload = { ...upload, place: beyond.place };
      upload = await write(world.bytes, upload, content.subarray(upload.offset, 90 * MIB), 'killed');
      t.ok(upload.offset >= 90 * MIB - 33 * MIB, `${upload.offset} are durable`);
      upload = await write(world.bytes, upload, content.subarray(upload.offset));
      await demandContent(t, world, upload, content);
    },
  );

  fact('a whole upload can be handed over again, after an attempt that came to nothing', async (t, world) => {
    const content = randomBytes(9 * MIB);
    const upload = await write(world.bytes, newUpload(content.length), content);
    await world.bytes.handOver(upload, fileKey(newAddress(), 'raw', 'first'), signal);
    await demandContent(t, world, upload, content);
  });

  fact('removes what is there, in any state, and what is not there', async (t, world) => {
    for (const length of [1, 8 * MIB, 12 * MIB, 17 * MIB]) {
      const upload = newUpload(20 * MIB);
      await write(world.bytes, upload, randomBytes(length));
      await world.bytes.remove(upload.id, signal);
      await world.bytes.remove(upload.id, signal);
      t.strictSame(await world.kept(), [], `${length} bytes`);
    }
  });

  fact('nothing begins after an abort', async (t, world) => {
    const stopped = AbortSignal.abort(new Error('stopped'));
    const upload = newUpload(10);
    await t.rejects(world.bytes.open(upload, stopped), { message: 'stopped' });
    await t.rejects(world.bytes.handOver(upload, fileKey(newAddress(), 'raw', 'x'), stopped), { message: 'stopped' });
    await t.rejects(world.bytes.remove(upload.id, stopped), { message: 'stopped' });
    t.strictSame(await world.kept(), []);
  });
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
