// The pages of the project as tests read them: what they name in back-ticks, what they link to, which commands they show.

import { globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

export const ROOT = join(import.meta.dirname, '..', '..');

export interface Page {
  /** Relative to the root, with `/`. */
  readonly file: string;
  readonly text: string;
}

const NOT_OURS = /(^|\/)(node_modules|dist|coverage|\.tap|\.git)(\/|$)/;

/** Every Markdown page of the project, sorted. */
export function pages(): readonly Page[] {
  return globSync('**/*.md', { cwd: ROOT, exclude: (path) => NOT_OURS.test(path) })
    .filter((file) => !NOT_OURS.test(file))
    .sort()
    .map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
}

/** The code spans of a page, outside of its blocks. */
export const codeSpans = ({ text }: Page): readonly string[] =>
  [...withoutBlocks(text).matchAll(/`([^`]+)`/g)].map(([, span = '']) => span.replaceAll(/\s+/g, ' '));

/** Targets of links, outside of blocks and code. */
export const links = ({ text }: Page): readonly string[] =>
  [
    ...withoutBlocks(text)
      .replaceAll(/`[^`]*`/g, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, target = '']) => target);

/** Anchors that the headings of a page make, as GitHub writes them. */
export const anchors = (text: string): readonly string[] =>
  [...withoutBlocks(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

/** Blocks of one language, in the order of the page. */
export const blocks = ({ text }: Page, language: string): readonly string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block);

/** Relative to the root: `path` as a page in a folder means it. */
export const beside = (file: string, path: string): string => posix.join(dirname(file), path);

const withoutBlocks = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, '');
