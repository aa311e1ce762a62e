import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, inject, it } from 'vitest';

it('the build contains no `using` declarations and no stacks for them, which Node 22 does not support', () => {
  const built = inject('built');
  const names = readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) => /\.m?js$/.test(name));
  const newer = /^\s*(?:await )?using \w+ = |\bnew (?:Async)?DisposableStack\b/m;
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => newer.test(readFileSync(path.join(built, name), 'utf8')))).toEqual([]);
});
