import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { VERSION } from '../../src/version.ts';
import { asOrdinaryUser } from '../as-ordinary-user.ts';
import { GitServer, git, newRepository } from '../state/backends/git/git-server.ts';
import { freshDatabase } from '../state/backends/postgres/databases.ts';
import { kustomization, manifest } from './kubernetes-schema.ts';
import { root } from './workflow.ts';

const folder = path.join(root, 'deploy/kubernetes/fleet');
const files = globSync('*.yaml', { cwd: folder }).filter((file) => file !== 'kustomization.yaml');
const textOf = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
const manifests = files.flatMap((file) =>
  parseAllDocuments(textOf(file)).map((document) => manifest.parse(document.toJS())),
);

function all<K extends (typeof manifests)[number]['kind']>(kind: K) {
  type One = Extract<(typeof manifests)[number], { readonly kind: K }>;
  return manifests.filter((each): each is One => each.kind === kind);
}

/** Returns the first manifest of a kind. */
function one<K extends (typeof manifests)[number]['kind']>(kind: K) {
  const [found] = all(kind);
  if (found === undefined) throw new Error(`no ${kind}`);
  return found;
}

const { spec } = one('Deployment');
const pod = spec.template.spec;
const [container] = pod.containers;
const config = one('ConfigMap');
const secrets = new Map(all('Secret').map(({ metadata, stringData }) => [metadata.name, stringData]));

describe('the manifests of a fleet for Kubernetes', () => {
  it('are listed in the kustomization, except the secrets, which are an example without values', () => {
    const { resources } = kustomization.parse(parse(textOf('kustomization.yaml')));
    expect([...resources].sort()).toEqual(files.filter((file) => file !== 'secrets.example.yaml').sort());
    expect([...secrets.values()].flatMap((each) => Object.values(each))).toEqual(['', '', '', '']);
  });

  it('run several processes with minimal permissions that are not all stopped at once', () => {
    expect(spec.replicas).toBeGreaterThan(1);
    expect(spec.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 1, maxUnavailable: 0 },
    });
    expect(one('PodDisruptionBudget').spec.maxUnavailable).toBeLessThan(spec.replicas);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.image).toMatch(new RegExp(`:${VERSION.replaceAll('.', '\\.')}$`));
  });

  it('refer to each other correctly', () => {
    const { labels } = spec.template.metadata;
    expect([
      spec.selector.matchLabels,
      one('Service').spec.selector,
      one('PodDisruptionBudget').spec.selector.matchLabels,
      pod.topologySpreadConstraints?.[0]?.labelSelector.matchLabels,
    ]).toEqual([labels, labels, labels, labels]);
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    for (const { configMap, secret } of pod.volumes) {
      const keys = [...(configMap?.items ?? []), ...(secret?.items ?? [])].map(({ key }) => key);
      const there = configMap ? config.data : secret && secrets.get(secret.secretName);
      expect(keys.sort()).toEqual(Object.keys(there ?? {}).sort());
    }
    for (const variable of container.env ?? []) {
      if (!('valueFrom' in variable)) continue;
      const { name, key } = variable.valueFrom.secretKeyRef;
      expect(Object.keys(secrets.get(name) ?? {})).toContain(key);
      expect(config.data['fleet.yaml']).toContain(`{ $secret: ${variable.name} }`);
    }
    const namespaces = manifests.filter(({ kind }) => kind !== 'Namespace').map((each) => each.metadata);
    expect(new Set(namespaces.map(({ namespace }) => namespace))).toEqual(new Set([one('Namespace').metadata.name]));
  });

  it('check health on the port of the process', () => {
    const port = container.ports.find(({ name }) => name === 'http')?.containerPort;
    expect(container.args).toContain(`--listen=0.0.0.0:${port}`);
    expect(one('Service').spec.ports).toEqual([{ name: 'http', port, targetPort: 'http' }]);
    const { startupProbe, livenessProbe, readinessProbe } = container;
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet.path)).toEqual([
      '/healthz',
      '/healthz',
      '/readyz',
    ]);
  });

  it('start the command with existing flags', async () => {
    const program = await createProgram(async () => undefined);
    const fleet = program.commands.find((command) => command.name() === 'fleet');
    const serve = fleet?.commands.find((command) => command.name() === 'serve');
    const known = [program, fleet, serve].flatMap((command) => command?.options.map(({ long }) => long));
    const flags = container.args.map((arg) => arg.split('=')[0]).filter((arg) => arg?.startsWith('--'));
    expect(flags.filter((flag) => !known.includes(flag ?? ''))).toEqual([]);
    expect(container.args.filter((arg) => !arg.startsWith('--'))).toEqual(['fleet', 'serve']);
  });

  it('serve a fleet from the mounted files, as a user who can only write to the checkouts', {
    tags: ['long'],
  }, async () => {
    const workFolder = mkdtempSync(path.join(tmpdir(), 'voxform-fleet-pod-'));
    const database = await freshDatabase();
    let running: ChildProcess | undefined;
    await using emulator = await startEmulator({
      apiKey: 'key-of-acme',
      workspaceId: '01JEMV1AT0RW0RKSPACE000001',
      // A node may be drained at any time, also while a record is being created.
      onRequest: ({ method }) => void (method === 'POST' && running?.kill('SIGTERM')),
    });
    await using host = await GitServer.start(workFolder);
    host.login = 'reader:token-of-the-host';
    try {
      pushProject(workFolder, emulator.url);
      mount(workFolder);
      running = startPod(workFolder, {
        FLEET_DATABASE_URL: database.url,
        VOICES_GIT_URL: host.address('voices.git', host.login),
      });
      let log = '';
      running.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
      const code = await new Promise((resolve) => running?.once('close', resolve));
      expect(code, log).toBe(0);
      const rows = await database.sql('SELECT name, state FROM voxform_fleet.states');
      expect(rows.map(({ name, state }) => [name, Object.keys(JSON.parse(String(state)).resources)])).toEqual([
        ['voices/clients/acme:production', ['Agent/support-line']],
      ]);
      expect(log).not.toContain('token-of-the-host');
    } finally {
      running?.kill('SIGKILL');
      chmodSync(path.join(workFolder, 'etc'), 0o755);
      rmSync(workFolder, { recursive: true, force: true });
    }
  });
});

/** Creates a repository with one client and one agent. */
function pushProject(workFolder: string, platform: string): void {
  const work = path.join(workFolder, 'work');
  const project = path.join(work, 'clients/acme');
  newRepository(work, path.join(workFolder, 'voices.git'));
  mkdirSync(path.join(project, 'manifests'), { recursive: true });
  writeFileSync(
    path.join(project, 'voxform.yaml'),
    `version: 1
workspaces:
  production:
    base_url: ${platform}
    workspace_id: 01JEMV1AT0RW0RKSPACE000001
    api_key: { $secret: API_KEY }
`,
  );
  writeFileSync(
    path.join(project, 'manifests/agents.yaml'),
    'apiVersion: voxform/v1\nkind: Agent\nmetadata: { name: support-line }\nspec: { name: Support line }\n',
  );
  git(work, 'add', '--all');
  git(work, 'commit', '--quiet', '-m', 'acme');
  git(work, 'push', '--quiet', 'origin', 'main');
}

function mount(workFolder: string): void {
  const fleet = config.data['fleet.yaml'] ?? '';
  mkdirSync(path.join(workFolder, 'etc'));
  writeFileSync(
    path.join(workFolder, 'etc/fleet.yaml'),
    fleet.replaceAll('/run/secrets/voxform', path.join(workFolder, 'secrets')).replace('mode: report', 'mode: apply'),
  );
  const items = pod.volumes.flatMap(({ secret }) => secret?.items ?? []);
  for (const item of items) {
    const file = path.join(workFolder, 'secrets', item.path);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, `key-of-${item.key.split('.')[0]}\n`);
  }
  mkdirSync(path.join(workFolder, 'cache'));
  chmodSync(path.join(workFolder, 'etc'), 0o555);
}

/** Starts the process of the container. */
function startPod(workFolder: string, secretsOfFleet: Readonly<Record<string, string>>): ChildProcess {
  const main = path.join(inject('built'), 'main.js');
  const args = container.args.map((arg) =>
    arg
      .replace('=/var/cache/voxform', `=${workFolder}/cache`)
      .replace('=/etc/voxform', `=${workFolder}/etc`)
      .replace(/=0\.0\.0\.0:\d+$/, '=127.0.0.1:0'),
  );
  const env = Object.fromEntries(
    (container.env ?? []).map((each) => [each.name, 'value' in each ? each.value : secretsOfFleet[each.name]]),
  );
  const [file = '', ...words] = [...asOrdinaryUser, process.execPath, main, ...args];
  return spawn(file, words, {
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: '/dev/null', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
