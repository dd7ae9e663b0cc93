// What BullMQ runs in the threads of its own.

import { digest, noop } from './fixed-work.ts';

export default async ({ name, data }: { readonly name: string; readonly data: { readonly event: number } }) =>
  name === 'digest' ? digest() : noop(data.event);
