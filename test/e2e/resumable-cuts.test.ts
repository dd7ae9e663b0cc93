// A large upload that is cut again and again, on the directory store.

import { cutUploads } from '../support/cut-uploads.ts';

await cutUploads();
