// Saves a download as a file of the person, and tells what came of it.

import { MOST_IN_MEMORY, save, TooLarge, WrongDigest } from '../api/save.ts';
import { UnreadableZip } from '../api/zip.ts';
import { texts } from '../texts.ts';
import { bytes } from './format.ts';
import { Refusal } from './notices.tsx';
import { tellDone, tellProblem } from './toasts.tsx';

const words = texts.download;

export type Download = Parameters<typeof save>[0];

/** Call it from a click: the browser asks where to. */
export async function download(one: Download): Promise<void> {
  try {
    const how = await save(one);
    if (how !== 'given-up') tellDone(how === 'verified' ? words.verified(one.name) : words.saved(one.name));
  } catch (error) {
    const refusal = whyNot(error);
    tellProblem(refusal === undefined ? error : new Refusal(refusal));
  }
}

function whyNot(error: unknown): string | undefined {
  if (error instanceof TooLarge) return words.tooLarge(bytes(MOST_IN_MEMORY));
  if (error instanceof WrongDigest) return words.wrongDigest;
  return error instanceof UnreadableZip ? words.unreadable : undefined;
}
