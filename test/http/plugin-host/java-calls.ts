// The four calls as installers on the JVM make them, over one connection.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Test } from 'tap';
import { stringifyJson } from '../../../engine/model/json.ts';
import { unzip } from '../../conformance/plugin-client.ts';
import {
  CALL_SHAPES,
  JSON_TYPE,
  jsonCall,
  multipartCall,
  RawConnection,
  type SentPart,
  shapeOf,
} from '../../fixtures/java-plugin-client.ts';
import type { ServedHost } from './host-server.ts';
import { details, metadataJson, putZip, TYPE } from './host-setup.ts';

export const TARGET = { 'install-target': 'AlphaDB' };
export type Files = Readonly<Record<string, string>>;

/** Event ids are unsigned 64-bit numbers there, job ids 16-bit ones. */
export const importDetails = (dataset: string): string =>
  `{"event-id":18446744073709551615,"vdi-id":"${dataset}","job-id":65535,"meta":${stringifyJson(metadataJson(dataset))}}`;

const field = (name: string, content: string): SentPart => ({ name, type: JSON_TYPE, content });
const properties = (fileName: string): SentPart => ({
  ...{ name: 'dataProperties', fileName, type: 'application/octet-stream', content: `of ${fileName}` },
});
const PROPERTIES = ['genes.tsv', 'größe 2.tsv'].map(properties);

export async function javaCalls(t: Test, { baseUrl }: ServedHost) {
  const dir = t.testdir({});
  const connection = await RawConnection.open(baseUrl);
  t.teardown(() => connection[Symbol.dispose]());
  const call = async (path: keyof typeof CALL_SHAPES, ...parts: SentPart[]) => {
    const bytes = multipartCall(path, connection.host, parts);
    t.strictSame(shapeOf(bytes), { path, parts: CALL_SHAPES[path] });
    return connection.exchange(bytes);
  };
  const payload = async (fileName: string, files: Files): Promise<SentPart> => {
    await putZip(join(dir, fileName), files);
    return { name: 'payload', fileName, type: 'application/zip', content: await readFile(join(dir, fileName)) };
  };
  return {
    connection,
    importOf: async (dataset: string, files: Files) =>
      call('/import', field('details', importDetails(dataset)), await payload('import-ready.zip', files)),
    install: async (dataset: string, files: Files, dependencies: readonly object[] = []) =>
      call(
        '/install/data',
        field('details', details(dataset, TARGET)),
        field('meta', stringifyJson({ ...metadataJson(dataset), dependencies })),
        field('manifest', '{"rawUploads":[],"installReady":[{"name":"a.txt","size":5}]}'),
        await payload('install-ready.zip', files),
        ...PROPERTIES,
      ),
    installMeta: (dataset: string, name = dataset) =>
      call('/install/meta', field('details', details(dataset, { ...TARGET, meta: metadataJson(name) })), ...PROPERTIES),
    uninstall: (dataset: string) =>
      connection.exchange(jsonCall('/uninstall', connection.host, details(dataset, { ...TARGET, type: TYPE }))),
    unpacked: async (zip: Buffer = Buffer.alloc(0)): Promise<Record<string, Buffer>> => {
      await writeFile(join(dir, 'any.zip'), zip);
      return unzip(join(dir, 'any.zip'));
    },
  };
}
