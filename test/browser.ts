import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(executablePath);

/** The title suffix of tests with pages if there is no browser. */
export const noBrowser = `NO PAGE WAS LOOKED AT: THERE IS NO CHROMIUM AT ${executablePath}. Install it, or name one with CHROMIUM`;
if (!hasBrowser) process.stderr.write(`${noBrowser}\n`);

export function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--disable-gpu'] });
}
