import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { openDirectoryStore } from '../../../../engine/adapters/directory/directory-store.ts';
import { DirectoryUploadBytes } from '../../../../engine/adapters/directory/directory-upload-bytes.ts';
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
