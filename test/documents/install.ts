// Installs the linters and generators of this folder.

import { installFolder } from '../support/npm-folder.ts';

installFolder(import.meta.dirname);
