// The program that P7 downloads from: download-server.ts ours FOLDER. GET /download?key=.. answers with an object of the
// directory store below the folder, by the product's server and the product's download.

import { DirectoryReader } from '../../engine/adapters/directory/directory-store-reader.ts';
import { sendObject } from '../../http/kernel/answers/download.ts';
import { httpApp, route } from '../http/http-app.ts';
import { listensOn } from './program.ts';

const [, folder = ''] = process.argv.slice(2);
const store = new DirectoryReader(folder);
const sending = (name: string) =>
  route(`/${name}`, 'open', (context) =>
    sendObject(context, store, {
      ...{ key: `1/${name}/install-ready.zip`, contentType: 'application/zip' },
      ...{ fileName: `${name}.zip`, absent: 'there is none' },
    }),
  );
const { port } = await httpApp({ teardown: () => undefined }, [sending('big'), sending('small')]);
listensOn(port);
