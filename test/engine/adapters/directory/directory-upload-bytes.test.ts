import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openDirectoryStore } from '../../../../engine/adapters/directory/directory-store.ts';
import { DirectoryUploadBytes } from '../../../../engine/adapters/directory/directory-upload-bytes.ts';
import type { UploadId } from '../../../../engine/model/ids.ts';
import type { ObjectStore } from '../../../../engine/ports/object-store.ts';
import type { ResumableUpload } from '../../../../engine/ports/resumable-uploads.ts';
import { transient } from '../../../../engine/runtime/failure.ts';
import { silentLogger } from '../../../../engine/runtime/log.ts';
import { systemClock } from '../../../../engine/runtime/time.ts';
import { uploadBytesConformance } from '../../../conformance/upload-bytes.ts';
import { FakeChangeJournal } from '../../../fakes/fake-change-journal.ts';
import { FakeObjectStore } from '../../../fakes/fake-object-store.ts';
import { FakeUploadBytes } from '../../../fakes/fake-upload-bytes.ts';

t.test('the directory', async (t) => {
  uploadBytesConformance(t, async (t) => {
    const path = t.testdir();
    const options = { path, journal: new FakeChangeJournal(), clock: systemClock, log: silentLogger() };
    const store = await openDirectoryStore(options, new AbortController().signal);
    const kept = () => readdir(join(path, 'resumable')).catch(() => []);
    return { bytes: new DirectoryUploadBytes(path, store), store, kept };
  });
});

t.test('the fake', async (t) => {
  uploadBytesConformance(t, async () => {
    const store = new FakeObjectStore();
    const bytes = new FakeUploadBytes(store);
    return { bytes, store, kept: async () => bytes.ids };
  });
});

t.test('why an upload could not be handed over is told, also when nothing can be removed then', async (t) => {
  const path = t.testdir();
  const id = 'a'.repeat(32) as UploadId;
  const never = new AbortController().signal;
  const upload = { id, length: 4, offset: 0 } as ResumableUpload;
  const store: Pick<ObjectStore, 'put'> = {
    async put() {
      const link = join(path, 'resumable', `${id}.link`);
      await rm(link);
      // A file is removed, a folder is not.
      await mkdir(link);
      throw transient('no room in the store');
    },
  };
  const bytes = new DirectoryUploadBytes(path, store);
  {
    await using writer = await bytes.open(upload, never);
    await writer.write(Buffer.from('data'), never);
    await writer.flush(never);
  }
  await t.rejects(bytes.handOver({ ...upload, offset: 4 }, 'key', never), { message: 'no room in the store' });
});
