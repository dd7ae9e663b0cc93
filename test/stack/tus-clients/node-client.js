// Uploads a file with tus-js-client, as its manual shows it, and prints the URL of the upload.
//   node node-client.js ENDPOINT TOKEN FILE

import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { Upload } from 'tus-js-client';

const [endpoint, token, file] = process.argv.slice(2);
const upload = new Upload(createReadStream(file), {
  endpoint,
  headers: { authorization: `Bearer ${token}` },
  metadata: { filename: basename(file) },
  retryDelays: [0, 500, 1_000, 3_000, 5_000],
  onError: (error) => {
    console.error(error);
    process.exitCode = 1;
  },
  onSuccess: () => console.log(upload.url),
});
upload.start();
