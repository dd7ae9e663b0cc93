// Debian's Chromium, driven by playwright-core: nothing is downloaded, and nothing of it is kept.

import { type Browser, chromium } from 'playwright-core';

const PROGRAM = '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  // Containers give it too little.
  '--disable-dev-shm-usage',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export async function browser(t: { teardown(fn: () => unknown): void }): Promise<Browser> {
  const running = await chromium.launch({ executablePath: PROGRAM, headless: true, args: FLAGS });
  t.teardown(() => running.close());
  return running;
}

/** Runs in the page: every text that has less than 4.5 to 1 of contrast with what is behind it, with the number. */
export const LOW_CONTRASTS = `(() => {
  // By a canvas, because computed colours come in several notations.
  const canvas2d = Object.assign(document.createElement('canvas'), { width: 1, height: 1 }).getContext('2d');
  const channels = (colour) => {
    canvas2d.clearRect(0, 0, 1, 1);
    canvas2d.fillStyle = colour;
    canvas2d.fillRect(0, 0, 1, 1);
    return [...canvas2d.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const canvas = matchMedia('(prefers-color-scheme: dark)').matches ? [0, 0, 0] : [255, 255, 255];
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) return colour;
    }
    return canvas;
  };
  const low = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility()) continue;
    const pair = [luminance(channels(getComputedStyle(element).color)), luminance(behind(element))];
    const contrast = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (contrast < 4.5) low.add(element.tagName + ' ' + contrast.toFixed(2) + ' ' + node.data.trim().slice(0, 40));
  }
  return [...low];
})()`;
