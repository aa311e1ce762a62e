import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { fleetAddress, matchesAddress, ruleFor } from '../../src/fleet/addresses.ts';
import { type FleetFile, loadFleetFile } from '../../src/fleet/fleet-file.ts';
import { InvalidProject } from '../../src/project/invalid-project.ts';
import { Secret } from '../../src/values/value.ts';
import { temporaryFolder } from '../cli/voxform-process.ts';

async function load(text: string, env: Record<string, string> = {}): Promise<FleetFile> {
  await using folder = await temporaryFolder();
  const file = path.join(folder.root, 'fleet.yaml');
  writeFileSync(file, text);
  return loadFleetFile(file, env);
}

/** Returns `LINE:COLUMN MESSAGE` for each diagnostic. */
async function problemsOf(text: string, env: Record<string, string> = {}): Promise<string[]> {
  try {
    await load(text, env);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidProject)) throw error;
    return error.diagnostics.map(({ line, column, message }) => `${line}:${column} ${message}`);
  }
}

const minimal = 'version: 1\nsources: { voices: { path: /srv/voices } }\n';

describe('fleet file', () => {
  it('is complete with one source', async () => {
    expect(await load(minimal)).toMatchObject({
      database: undefined,
      sources: [{ name: 'voices', path: '/srv/voices', projects: ['.'], interval: 2000 }],
      rules: [],
      limits: { concurrency: 64, runs: 8, values: 1_000_000, characters: 16_000_000 },
      timeout: 600_000,
      retention: 90 * 86_400_000,
    });
  });

  it('accepts all settings', async () => {
    const text = `version: 1
database: { $secret: FLEET_DATABASE_URL }
sources:
  voices: { git: { $secret: VOICES_URL }, projects: [./clients/*/, "!./clients/archive"], interval: 1m, secrets: "/run/secrets/{project}" }
  own: { path: ../own, projects: ["**"] }
workspaces:
  "voices/clients/acme:production": { mode: approve, interval: 1m }
  "*:staging": { mode: apply }
  "*": {}
limits: { concurrency: 8, runs: 2, values: 5000, characters: 2000000 }
timeout: 1m
retention: 1d
`;
    const fleet = await load(text, {
      FLEET_DATABASE_URL: 'postgres://a:b@c/d',
      VOICES_URL: 'https://u:p@g.example/v',
    });
    expect(fleet).toMatchObject({
      sources: [
        {
          ref: 'main',
          projects: ['clients/*', '!clients/archive'],
          interval: 60_000,
          secrets: '/run/secrets/{project}',
        },
        { projects: ['**'] },
      ],
      rules: [
        { mode: 'approve', interval: 60_000 },
        { mode: 'apply', interval: 300_000 },
        { pattern: '*', mode: 'report', interval: 300_000 },
      ],
      limits: { concurrency: 8, runs: 2, values: 5000, characters: 2_000_000 },
      timeout: 60_000,
      retention: 86_400_000,
    });
    expect(fleet.database).toBeInstanceOf(Secret);
    expect(Object.keys(parse(text)).sort()).toEqual(
      ['version', 'database', 'sources', 'workspaces', 'limits', 'timeout', 'retention'].sort(),
    );
  });

  it.each([
    ['an unknown key', `${minimal}intervall: 5m\n`, ['3:1 unknown field "intervall"']],
    [
      'an unknown key of a source',
      'version: 1\nsources: { v: { path: a, project: ["*"] } }\n',
      ['2:26 unknown field "project"; did you mean "projects"?'],
    ],
    ['no source', 'version: 1\nsources: {}\n', ['2:10 sources: expected at least one source']],
    [
      'a source of two kinds',
      'version: 1\nsources: { v: { path: a, git: b } }\n',
      ['2:15 v: expected either git or path'],
    ],
    ['a ref of a folder', 'version: 1\nsources: { v: { path: a, ref: b } }\n', ['2:31 ref: a folder has no ref']],
    [
      'a ref that is an option',
      'version: 1\nsources: { v: { git: a, ref: --all } }\n',
      ['2:30 ref: expected the name of a branch or tag'],
    ],
    [
      'projects outside the source',
      'version: 1\nsources: { v: { path: a, projects: ["../*", "/etc"] } }\n',
      [
        '2:37 projects[0]: expected a folder inside the source',
        '2:45 projects[1]: expected a folder inside the source',
      ],
    ],
    [
      'projects with only exclusions',
      'version: 1\nsources: { v: { path: a, projects: ["!b"] } }\n',
      ['2:36 projects: expected at least one pattern without !'],
    ],
    [
      'a password in an address',
      'version: 1\ndatabase: postgres://a:b@c/d\nsources: { v: { git: "https://u:hunter2@g.example/v" } }\n',
      ['2:11 database: the password must not be in the fleet file; use { $secret: NAME } or { $env: NAME }'],
    ],
    [
      'a password in the address of a repository',
      'version: 1\nsources: { v: { git: "https://u:hunter2@g.example/v" } }\n',
      ['2:22 git: the password must not be in the fleet file; use { $secret: NAME } or { $env: NAME }'],
    ],
    [
      'invalid durations',
      `${minimal}timeout: 10\nretention: 5 days\nworkspaces: { "*": { interval: 0.1s } }\n`,
      [
        '3:10 timeout: expected a duration such as 30m or 6h, got 10',
        '4:12 retention: expected a duration such as 30m or 6h, got "5 days"',
        '5:32 interval: expected at least 1s',
      ],
    ],
    [
      'an unknown mode',
      `${minimal}workspaces: { "*": { mode: aprove } }\n`,
      ['3:28 mode must be one of "report", "apply", "approve", got "aprove"; did you mean "approve"?'],
    ],
    [
      'a rule for an unknown source, and values of a wrong type',
      'version: 1\nsources: { voices: { path: a, interval: 5 } }\nworkspaces: { "voicse/*": { mode: 1 } }\n',
      [
        '2:41 interval: expected a duration such as 30m or 6h, got 5',
        '3:15 unknown source "voicse"; did you mean "voices"?',
        expect.stringMatching(/^3:35 mode must be /),
      ],
    ],
    [
      'a rule for an unknown source',
      `${minimal}workspaces: { "voicse/*": {} }\n`,
      ['3:15 unknown source "voicse"; did you mean "voices"?'],
    ],
    [
      'a rule after one with the same matches',
      `${minimal}workspaces: { "*:a": {}, "voices/*:a": {}, "*:b": {} }\n`,
      ['3:26 "voices/*:a" never applies: "*:a" above it matches the same addresses; move it up or remove it'],
    ],
    [
      'two identical sources',
      'version: 1\nsources: { a: { path: x }, b: { path: ./x } }\n',
      ['2:28 b has the same projects as a; remove one of them, or give each its own projects'],
    ],
    [
      'an invalid version and an invalid list',
      'version: "1"\nsources: { v: { path: a, projects: [] } }\n',
      ['1:10 version must be 1, got "1"; remove the quotes', '2:36 projects must be a list of at least 1 item, got 0'],
    ],
    [
      'durations that no timer supports, and secrets with an unknown placeholder',
      'version: 1\ntimeout: 999999d\nworkspaces: { "*": { interval: 99999d } }\nsources: { v: { path: a, secrets: "x/{nope}" } }\n',
      [
        '2:10 timeout: expected at most 1d',
        '3:32 interval: expected at most 30d',
        '4:35 secrets: expected only the placeholders {source} and {project}',
      ],
    ],
    [
      'a single sign-on without encryption, without a client, and with a literal secret',
      `${minimal}sign_in:\n  issuer: http://login.example.com\n  client_id: ""\n  client_secret: hunter2\n  roles: { owner: [a] }\n`,
      [
        '4:11 issuer: expected an https address',
        '5:14 client_id must be a string of 1 to 255 characters, got ""',
        '6:18 client_secret: must not be in the file as text; use { $secret: NAME } or { $env: NAME }',
        '7:10 roles: expected at least one role',
        '7:12 unknown field "owner"',
      ],
    ],
    [
      'a single sign-on for a page without a URL',
      `${minimal}address: http://v.example.com\nsign_in: { issuer: "https://l.example.com", client_id: v, roles: { viewer: ["*"] } }\n`,
      ['4:10 sign_in: needs address, here or at the top level: the public https address of the page, without a path'],
    ],
    [
      'a single sign-on at a path, without roles, and a session without a unit',
      `${minimal}sign_in: { issuer: "https://l.example.com", client_id: v, address: "https://v.example.com/page", roles: {}, session: 8 }\n`,
      [
        '3:68 address: expected an https address without a path',
        '3:105 roles: expected at least one role',
        '3:118 session: expected a duration such as 30m or 6h, got 8',
      ],
    ],
    ['two documents', `${minimal}---\nversion: 1\n`, ['4:1 the fleet file must contain exactly one document']],
  ])('refuses %s, with its position', async (_, text, expected) => {
    expect(await problemsOf(text)).toEqual(expected);
  });

  it('uses the URL of the page for single sign-on, unless a separate one is set', async () => {
    const signIn = 'issuer: "https://l.example.com", client_id: v, roles: { viewer: ["*"] }';
    const text = `${minimal}address: https://voxform.example.com/\n`;
    const { signIn: usual } = await load(`${text}sign_in: { ${signIn} }\n`);
    expect(usual).toEqual({
      issuer: 'https://l.example.com',
      clientId: 'v',
      clientSecret: undefined,
      address: 'https://voxform.example.com',
      nameClaim: 'email',
      groupsClaim: 'groups',
      roles: { viewer: ['*'] },
      session: 8 * 3_600_000,
    });
    const { signIn: own } = await load(
      `${text}sign_in: { ${signIn}, address: "http://localhost:8080", session: 30d }\n`,
    );
    expect(own).toMatchObject({ address: 'http://localhost:8080', session: 30 * 86_400_000 });
  });

  it("may be a symbolic link, and paths are relative to its target's folder", async () => {
    await using folder = await temporaryFolder({ 'elsewhere/fleet.yaml': minimal.replace('/srv', '.') });
    const file = path.join(folder.root, 'fleet.yaml');
    symlinkSync('elsewhere/fleet.yaml', file);
    expect(loadFleetFile(file, {}).folder).toBe(folder.root);
    mkdirSync(path.join(folder.root, 'mounted'));
    symlinkSync('../elsewhere/fleet.yaml', path.join(folder.root, 'mounted/fleet.yaml'));
    const { sources } = loadFleetFile(path.join(folder.root, 'mounted/fleet.yaml'), {});
    expect(sources).toMatchObject([{ path: path.join(folder.root, 'mounted/voices') }]);
  });

  it('reports a missing file', () => {
    expect(() => loadFleetFile('/nowhere/fleet.yaml', {})).toThrow(
      '/nowhere/fleet.yaml: the file cannot be read: no such file',
    );
  });
});

describe('address of a workspace', () => {
  it('contains the project, except for a project at the root', () => {
    expect([fleetAddress('v', 'a/b', 'w'), fleetAddress('v', '.', 'w')]).toEqual(['v/a/b:w', 'v:w']);
  });

  it.each([
    ['*', 'v/a:w', true],
    ['*:w', 'v/a:w', true],
    ['*:w', 'v/a:ww', false],
    ['v/*', 'v/a/b:w', true],
    ['v/*:w', 'v:w', false],
    ['v/a*a:w', 'v/a:w', false],
    ['*a*b*', 'xaxbx', true],
    ['v/a:w', 'v/a:w', true],
  ])('matches %s with %s: %s', (pattern, address, expected) => {
    expect(matchesAddress(pattern, address)).toBe(expected);
  });

  it('uses the first rule that matches', () => {
    const rules = ['*:a', 'v/x:*', '*'].map((pattern) => ({ pattern, mode: 'report', interval: 1 }) as const);
    expect(ruleFor(rules, 'v/x:a')?.pattern).toBe('*:a');
  });
});
