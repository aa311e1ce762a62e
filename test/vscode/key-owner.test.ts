import { describe, expect, it } from 'vitest';
import { isForWorkspace, keyName, keyProblem, keyQuestion } from '../../editors/vscode/src/key-owner.ts';

const owner = {
  folder: '/home/ann/voices',
  name: 'production',
  baseUrl: 'https://api.example.com',
  workspaceId: '01JEMV1AT0RW0RKSPACE000001',
  certificates: null,
};
const others = [
  { ...owner, folder: '/home/ann/others' },
  { ...owner, name: 'staging' },
  { ...owner, baseUrl: 'https://api.example.com.evil.example' },
  { ...owner, baseUrl: 'http://api.example.com' },
  { ...owner, workspaceId: 'another' },
  { ...owner, certificates: 'a digest' },
];
/** The name in an earlier version. */
const old = JSON.stringify(['apiKey', owner.folder, owner.name]);

describe('typed API key', () => {
  it('is stored for only one address', () => {
    const names = [old, ...[owner, ...others].map(keyName)];
    expect(new Set(names).size).toBe(names.length);
  });

  it('is removed with those of earlier settings of the workspace', () => {
    expect([old, ...others.map(keyName)].filter((name) => isForWorkspace(name, owner))).toEqual([
      old,
      ...others.slice(2).map(keyName),
    ]);
    expect(isForWorkspace('not ours', owner)).toBe(false);
  });

  it.each([
    { stored: [], hasChanged: false, reason: 'none was stored' },
    { stored: [keyName(owner)], hasChanged: false, reason: 'it is stored for this address' },
    { stored: others.slice(0, 2).map(keyName), hasChanged: false, reason: 'it is stored for others' },
    { stored: others.slice(2, 3).map(keyName), hasChanged: true, reason: 'it is stored for another address' },
    { stored: [old], hasChanged: true, reason: 'its address is unknown' },
  ])('is requested with its address, and with a warning if the address changed: $reason', ({ stored, hasChanged }) => {
    const { title, prompt } = keyQuestion(owner, stored);
    expect(title).toContain('production');
    expect(prompt).toContain(`${owner.baseUrl} for the workspace id ${owner.workspaceId}`);
    expect(prompt.includes('CHANGED')).toBe(hasChanged);
  });

  it('is requested without a link, which could run a command of the editor', () => {
    const { prompt } = keyQuestion({ ...owner, baseUrl: 'https://example.com/[a](command:b)' }, []);
    expect(prompt).not.toContain('](');
  });

  it.each([
    ['', true],
    ['a-key', true],
    [' ', false],
    ['a key', false],
    ['a-key\t', false],
    ['schlüssel', false],
  ])('%j is accepted: %s', (typed, isAccepted) => {
    expect(keyProblem(typed) === undefined).toBe(isAccepted);
  });
});
