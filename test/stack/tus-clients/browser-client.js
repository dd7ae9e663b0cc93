// Uploads bytes with Uppy and its plugin for tus, as their manual shows it. The page calls it by `window.uploadWithUppy`.

import Uppy from '@uppy/core';
import Tus from '@uppy/tus';

/** Returns the URL of the upload. */
window.uploadWithUppy = async ({ endpoint, token, name, size }) => {
  const bytes = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8) * 17) & 255);
  const uppy = new Uppy().use(Tus, {
    endpoint,
    headers: { authorization: `Bearer ${token}` },
    limit: 4,
    retryDelays: [0, 500, 1_000, 3_000, 5_000],
  });
  uppy.addFile({ name, type: 'text/plain', data: new Blob([bytes]) });
  const { successful, failed } = await uppy.upload();
  if (failed.length > 0) throw new Error(String(failed[0].error));
  return successful[0].uploadURL;
};
