// Any files, stored unchanged: no format, no rows in a table.

import { exportFiles, installFiles, installMetaRow, listFiles, removeMetaRow } from './installed-dataset.ts';
import { Refusal, type SamplePlugin } from './sample.ts';

export const lightweight: SamplePlugin = {
  async import(inputDir, outputDir) {
    const files = listFiles(inputDir);
    if (files.length === 0) throw new Refusal(['the upload holds no file']);
    exportFiles(inputDir, files, outputDir);
  },

  async checkCompatibility() {
    // Files without a format have no dependencies.
  },

  async installData(_dataset, dataDir, io) {
    installFiles(dataDir, io.dataFiles);
  },

  installMeta: installMetaRow,

  async uninstall(dataset, io) {
    await removeMetaRow(dataset, io);
  },
};
