import { describe, expect, it } from 'vitest';
import { fileOnHost, filesOnHost } from '../../src/hosting/index.ts';
import type { ComparedField } from '../../src/page/page-data.ts';
import { resourceDetail } from '../../src/page/resource-detail.ts';
import { pathOf } from '../../src/page/views/parts.ts';
import type { ResourceEntry } from '../../src/state/state-document.ts';
import { change, plan, resource } from '../output/sample-plan.ts';
import { runningPage } from './running-page.ts';
import { SampleSource } from './sample-source.ts';

const ADDRESS = 'voices/clients/client-00000:production';
const COMMIT = '7d81c3a52e0f4b6a8d9c1e2f3a4b5c6d7e8f9a0b';

describe('declared and live values', () => {
  const entry: ResourceEntry = {
    id: '01JNUMBER',
    recorded: { nickname: 'Main', inbound_agent_id: '01JAGENT', token: { $fingerprint: 'f' }, hidden: 'x', other: 'X' },
    observed: { other: 'x' },
    unobserved: ['hidden'],
  };
  const planned = resource('PhoneNumber/main', {
    action: 'update',
    ignore_drift: ['other'],
    changes: [
      change('nickname', { before: 'Desk', after: 'Lobby', cause: 'both' }),
      change('number', { before: '+1', after: '+2', cause: 'drift' }),
      change('api_key', { sensitive: true, fingerprints: { before: 'a', after: 'b' } }),
      change('prompt', { sensitive: true }),
      change('speed', { before: 1, after: 2, verified: false }),
    ],
  });
  const known = {
    address: 'PhoneNumber/main',
    entry,
    planned,
    names: { '01JAGENT': 'Agent/a' },
    storedRuns: [],
    pastRuns: [],
  };
  const fieldsOf = (fields: readonly ComparedField[]) => new Map(fields.map((each) => [each.path, each]));
  const fields = fieldsOf(resourceDetail(known).fields);

  it.each<[string, Partial<ComparedField>]>([
    [
      'nickname',
      { declared: { value: 'Lobby' }, live: { value: 'Desk' }, changedBy: 'both', lastApplied: { value: 'Main' } },
    ],
    ['number', { declared: { value: '+2' }, live: { value: '+1' }, changedBy: 'drift', lastApplied: undefined }],
    ['api_key', { declared: { words: '(secret)' }, live: { words: '(secret)' } }],
    ['prompt', { declared: { words: expect.stringContaining('sealed') }, live: { words: expect.anything() } }],
    ['speed', { live: { value: 1 }, notes: [expect.stringContaining('not returned by the platform')] }],
    ['inbound_agent_id', { declared: { value: 'Agent/a (01JAGENT)' }, live: undefined, changedBy: undefined }],
    ['hidden', { declared: { value: 'x' }, live: { words: expect.stringContaining('not returned') } }],
    ['other', { live: { words: expect.stringContaining('ignore_drift') } }],
  ])('are compared for %s', (path, expected) => {
    expect(fields.get(path)).toMatchObject(expected);
  });

  it('are only the differing ones if the state cannot be read, and a new resource has none', () => {
    const outside = resourceDetail({ ...known, entry: undefined });
    expect([outside.isComplete, outside.fields.length]).toEqual([false, 5]);
    const created = { ...planned, id: null, changes: [change('name', { after: 'a' })] };
    const [field] = resourceDetail({ ...known, entry: undefined, planned: created }).fields;
    expect(field).toMatchObject({ declared: { value: 'a' }, live: { words: 'not created yet' } });
  });
});

describe('URL of a manifest on its host', () => {
  const at = (address: string, more: Partial<Parameters<typeof filesOnHost>[0]> = {}) =>
    filesOnHost({ address, host: undefined, folder: 'clients/acme', commit: COMMIT, ...more });
  const file = { file: 'manifests/agents.yaml', line: 31 };

  it.each([
    ['https://github.com/acme/voices.git', undefined, `https://github.com/acme/voices/blob/${COMMIT}/clients/acme/`],
    ['git@github.com:acme/voices.git', undefined, `https://github.com/acme/voices/blob/${COMMIT}/clients/acme/`],
    ['https://ann:hunter2@gitlab.com/a/b/c', undefined, `https://gitlab.com/a/b/c/-/blob/${COMMIT}/clients/acme/`],
    ['https://git.acme.example:8443/a/b', 'gitlab', `https://git.acme.example:8443/a/b/-/blob/${COMMIT}/clients/acme/`],
    ['https://git.acme.example/a/b', 'github', `https://git.acme.example/a/b/blob/${COMMIT}/clients/acme/`],
  ] as const)('%s', (address, host, expected) => {
    const files = at(address, { host });
    expect(fileOnHost(files ?? '', file)?.href).toBe(`${expected}manifests/agents.yaml#L31`);
  });

  it('is undefined for other hosts, folders, or files that differ from the commit', () => {
    expect(at('https://git.acme.example/a/b')).toBeUndefined();
    expect(at('/srv/voices')).toBeUndefined();
    expect(at('https://github.com/acme/voices', { commit: `${COMMIT}-dirty` })).toBeUndefined();
  });

  it('stays in its folder for any file name', () => {
    const files = at('https://github.com/acme/voices', { folder: '' }) ?? '';
    expect(fileOnHost(files, { file: '../../../evil', line: 1 })).toBeUndefined();
    expect(fileOnHost(files, { file: 'a/{line}?#"<b>.yaml', line: 1 })?.href).toBe(
      `https://github.com/acme/voices/blob/${COMMIT}/a/%7Bline%7D%3F%23%22%3Cb%3E.yaml#L1`,
    );
    expect(fileOnHost('javascript:alert(1)//{file}', { file: 'a', line: 1 })).toBeUndefined();
  });
});

describe('page of a resource', () => {
  const path = pathOf(ADDRESS, 'resources', 'Agent/support-line');

  it('shows both sides, the origin of changes, links, references and runs', async () => {
    await using page = await runningPage({ source: new SampleSource({ count: 1 }) });
    const { text } = await page.ask(path);
    const values = text.slice(text.indexOf('id="values"'), text.indexOf('id="history"'));
    expect(values).toMatch(
      /llm_config\.temperature(?:(?!<tr>)[\s\S])*0\.2(?:(?!<tr>)[\s\S])*0\.7(?:(?!<tr>)[\s\S])*platform</,
    );
    expect(values).toMatch(/prompt_config\.prompt(?:(?!<tr>)[\s\S])*last applied(?:(?!<tr>)[\s\S])*both</);
    expect(values).toMatch(/class="path">secret<(?:(?!<tr>)[\s\S])*\(secret\)/);
    expect(values).toContain('&lt;script&gt;');
    expect(text).not.toMatch(/<script>|\$fingerprint|hunter2/);
    expect(text).toContain(`href="https://github.com/acme/voices/blob/${COMMIT}/manifests/agents.yaml#L31"`);
    expect(text).toContain('href="https://app.example.com/agents/01JAGENT');
    expect(text).toMatch(/id="history"[\s\S]*runs\/run-2"/);
    expect(values).toContain('<details class="more" open>');
    const approver = { headers: { cookie: await page.signIn('approver-token') } };
    expect((await page.ask(path, approver)).text).toMatch(/waits for approval[\s\S]*actions\/approve\?of=plan-1"/);
    const number = await page.ask(pathOf(ADDRESS, 'resources', 'PhoneNumber/hotline'));
    expect(number.text).toMatch(/<dt>Number<\/dt><dd>.*\+4930123456/);
    expect(number.text).toMatch(/Refers to<[\s\S]*Agent\/billing"/);
    const agent = await page.ask(pathOf(ADDRESS, 'resources', 'Agent/billing'));
    expect(agent.text).toMatch(/Referred to by<[\s\S]*PhoneNumber\/hotline"/);
  });

  it('links manual steps to the dashboard wherever they are shown', async () => {
    const records = { id: null, steps: [{ action: 'resolve_not_created', address: 'Agent/a' }] } as const;
    const unknown = resource('Agent/a', { ...records, action: 'unknown', url: 'https://app.example.com/agents' });
    const manual = resource('Webhook/b', {
      action: 'manual',
      id: '01JHOOK',
      url: 'https://app.example.com/webhooks/01JHOOK',
      steps: [{ action: 'dashboard', instruction: 'Rotate the key.' }],
    });
    await using page = await runningPage({ source: new SampleSource({ count: 1, plan: plan([unknown, manual]) }) });
    const headers = { cookie: await page.signIn('admin-token') };
    const links = async (asked: string) => {
      const { text } = await page.ask(asked, { headers });
      return [...text.matchAll(/href="(https:\/\/app[^"]+)"/g)].map(([, url]) => url);
    };
    const [lost, hook] = ['https://app.example.com/agents', 'https://app.example.com/webhooks/01JHOOK'];
    const orphan = 'https://app.example.com/webhooks/01JORPHAN';
    expect(new Set(await links(pathOf(ADDRESS)))).toEqual(new Set([lost, hook, orphan]));
    expect(new Set(await links(pathOf(ADDRESS, 'resources', 'Agent/a')))).toEqual(new Set([lost]));
    expect(new Set(await links(pathOf(ADDRESS, 'resources', 'Webhook/b')))).toEqual(new Set([hook]));
    expect(await links(`${pathOf(ADDRESS, 'actions', 'close-orphan')}?of=01JORPHAN`)).toEqual([orphan]);
    expect(new Set(await links(`${pathOf(ADDRESS, 'actions', 'approve')}?of=plan-1`))).toEqual(new Set([lost, hook]));
  });

  it.each([
    ['an unknown name', pathOf(ADDRESS, 'resources', 'Agent/none'), 404],
    ['an encoded slash', path.replace('Agent/support', 'Agent%2Fsupport'), 404],
    ['a path that resolves back to it', `${path}/%2e%2e/%2e%2e/Agent/support-line`, 200],
    ['a built-in property of objects', pathOf(ADDRESS, 'resources', '__proto__/constructor'), 404],
    ['markup', pathOf(ADDRESS, 'resources', 'Agent/<img src=x onerror=alert(1)>\u202e'), 404],
    ['a broken escape', `${path}%`, 400],
    ['a NUL', `${path}%00`, 400],
    ['a long name', pathOf(ADDRESS, 'resources', `Agent/${'n'.repeat(8000)}`), 404],
    ['another workspace', pathOf('voices/other:p', 'resources', 'Agent/support-line'), 404],
    ['a long query', `${path}?${'q=%C3%A9&'.repeat(800)}`, 200],
  ])('answers %s', async (_, asked, status) => {
    await using page = await runningPage({ source: new SampleSource({ count: 1 }) });
    const answer = await page.ask(asked);
    expect(answer.status).toBe(status);
    expect(answer.text).not.toMatch(/<img|\u202e|<script>/);
  });

  it('accepts only GET and HEAD, and shows nothing without a sign-in', async () => {
    await using page = await runningPage({
      source: new SampleSource({ count: 1 }),
      listen: { host: '0.0.0.0', port: 0 },
    });
    const headers = { host: '10.1.2.3' };
    const answer = await page.ask(path, { headers });
    expect([answer.status, answer.text.includes('support-line.')]).toEqual([401, false]);
    expect(answer.text).not.toContain('01JAGENT');
    const cookie = await page.signIn('viewer-token');
    const signedIn = { headers: { cookie } };
    expect((await page.ask(path, { ...signedIn, method: 'HEAD' })).text).toBe('');
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect(await page.ask(path, { ...signedIn, method })).toMatchObject({
        status: 405,
        headers: { allow: 'GET, HEAD' },
      });
    expect((await page.ask(path, signedIn)).text).not.toContain('actions/compare-calls');
  });
});
