import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';
import { type Emulator, startEmulator } from '../../src/emulator/start-emulator.ts';
import { VERSION } from '../../src/version.ts';
import { asOrdinaryUser } from '../as-ordinary-user.ts';
import { kustomization, manifest } from './kubernetes-schema.ts';
import { root } from './workflow.ts';

const folder = path.join(root, 'deploy/kubernetes');
const read = (file: string): unknown => parse(readFileSync(path.join(folder, file), 'utf8'));
const manifests = globSync('*.yaml', { cwd: folder })
  .filter((file) => file !== 'kustomization.yaml')
  .map((file) => manifest.parse(read(file)));

/** Returns the only manifest of a kind. */
function only<K extends (typeof manifests)[number]['kind']>(kind: K) {
  type One = Extract<(typeof manifests)[number], { readonly kind: K }>;
  const [found, another] = manifests.filter((each): each is One => each.kind === kind);
  if (found === undefined || another !== undefined) throw new Error(`not one ${kind}`);
  return found;
}

const deployment = only('Deployment');
const pod = deployment.spec.template.spec;
const [container] = pod.containers;
const project = only('ConfigMap');

describe('the manifests for Kubernetes', () => {
  it('are listed in the kustomization, except the secret, which is an example without values', () => {
    const { resources } = kustomization.parse(read('kustomization.yaml'));
    const files = globSync('*.yaml', { cwd: folder }).filter(
      (file) => !/^(kustomization|secret\.example)\.yaml$/.test(file),
    );
    expect([...resources].sort()).toEqual(files.sort());
    expect(Object.values(only('Secret').stringData)).toEqual(['', '']);
  });

  it('run one process with minimal permissions', () => {
    const { securityContext } = container;
    expect(deployment.spec).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(securityContext).toEqual({
      allowPrivilegeEscalation: false,
      privileged: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.image).toMatch(new RegExp(`:${VERSION.replaceAll('.', '\\.')}$`));
  });

  it('refer to each other correctly', () => {
    const labels = deployment.spec.template.metadata.labels;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(only('Service').spec.selector).toEqual(labels);
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(pod.volumes.map(({ name }) => name).sort());
    const sources = new Map(pod.volumes.map((volume) => [volume.name, volume]));
    expect(sources.get('project')?.configMap?.name).toBe(project.metadata.name);
    expect(sources.get('secrets')?.secret?.secretName).toBe(only('Secret').metadata.name);
    expect(sources.get('state')?.persistentVolumeClaim?.claimName).toBe(only('PersistentVolumeClaim').metadata.name);
    expect(
      sources
        .get('project')
        ?.configMap?.items.map(({ key }) => key)
        .sort(),
    ).toEqual(Object.keys(project.data).sort());
    const namespaces = manifests.filter(({ kind }) => kind !== 'Namespace').map((each) => each.metadata.namespace);
    expect(new Set(namespaces)).toEqual(new Set([only('Namespace').metadata.name]));
  });

  it('check health on the port of the process', () => {
    const port = container.ports.find(({ name }) => name === 'http')?.containerPort;
    expect(container.args).toContain(`--listen=0.0.0.0:${port}`);
    expect(only('Service').spec.ports).toEqual([{ name: 'http', port, targetPort: 'http' }]);
    const { startupProbe, livenessProbe, readinessProbe } = container;
    expect([startupProbe, livenessProbe, readinessProbe].map(({ httpGet }) => httpGet)).toEqual([
      { path: '/healthz', port: 'http' },
      { path: '/healthz', port: 'http' },
      { path: '/readyz', port: 'http' },
    ]);
  });

  it('start the command with existing flags', async () => {
    const program = await createProgram(async () => undefined);
    const watch = program.commands.find((command) => command.name() === 'watch');
    const known = [...program.options, ...(watch?.options ?? [])].map(({ long }) => long);
    const [first, second, ...flags] = container.args.map((arg) => arg.split('=')[0]);
    expect([first, second]).toEqual(['--chdir', 'watch']);
    expect(flags.filter((flag) => !known.includes(flag))).toEqual([]);
  });

  it('contain a project that is watched from mounted files, as a user who can only write to the state', {
    tags: ['long'],
  }, async () => {
    const workFolder = mkdtempSync(path.join(tmpdir(), 'voxform-pod-'));
    let running: ChildProcess | undefined;
    await using emulator = await startEmulator({
      workspaceId: '01JEMV1AT0RW0RKSPACE000001',
      // Kubernetes may stop a pod at any time, also while a record is being created.
      onRequest: ({ method }) => void (method === 'POST' && running?.kill('SIGTERM')),
    });
    try {
      mount(workFolder, emulator);
      running = startPod(workFolder);
      let log = '';
      running.stderr?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
      const code = await new Promise((resolve) => running?.once('close', resolve));
      expect(code, log).toBe(0);
      const created = emulator.requests.filter(({ method }) => method === 'POST');
      expect(created.map(({ body }) => body)).toEqual([
        expect.objectContaining({ prompt_config: { prompt: project.data['support-line.md']?.trimEnd() } }),
      ]);
      const state = JSON.parse(readFileSync(path.join(workFolder, 'state/production.state.json'), 'utf8'));
      expect(Object.keys(state.resources)).toEqual(['Agent/support-line']);
    } finally {
      running?.kill('SIGKILL');
      chmodSync(path.join(workFolder, 'project'), 0o755);
      rmSync(workFolder, { recursive: true, force: true });
    }
  });
});

/** Creates volumes like the kubelet: files in a dated folder, a link to it, and links to its entries. */
function mount(workFolder: string, { url }: Emulator): void {
  const items = pod.volumes.flatMap(({ configMap }) => configMap?.items ?? []);
  const files = items.map(({ key, path: file }) => {
    const text = (project.data[key] ?? '')
      .replace('https://voice.example.com', url)
      .replace('/run/secrets/voxform', path.join(workFolder, 'secrets'))
      .replace('/var/lib/voxform', path.join(workFolder, 'state'));
    return [file, text] as const;
  });
  volume(path.join(workFolder, 'project'), files);
  volume(
    path.join(workFolder, 'secrets'),
    Object.keys(only('Secret').stringData).map((name) => [name, `value-of-${name}\n`]),
  );
  mkdirSync(path.join(workFolder, 'state'));
  chmodSync(path.join(workFolder, 'project'), 0o555);
  chmodSync(workFolder, 0o755);
}

function volume(folder: string, files: readonly (readonly [string, string])[]): void {
  const dated = '..2026_11_21_09_00_00.1234567890';
  for (const [name, text] of files) {
    mkdirSync(path.dirname(path.join(folder, dated, name)), { recursive: true });
    writeFileSync(path.join(folder, dated, name), text);
  }
  symlinkSync(dated, path.join(folder, '..data'));
  for (const name of new Set(files.map(([file]) => file.split('/')[0] ?? ''))) {
    symlinkSync(path.join('..data', name), path.join(folder, name));
  }
}

/** Starts the process of the container in the mode apply. */
function startPod(workFolder: string): ChildProcess {
  const main = path.join(inject('built'), 'main.js');
  const args = container.args
    .map((arg) => arg.replace('=/project', `=${workFolder}/project`).replace(/=0\.0\.0\.0:\d+$/, '=127.0.0.1:0'))
    .map((arg) => arg.replace('=report', '=apply'));
  const [file = '', ...words] = [...asOrdinaryUser, process.execPath, main, ...args, '--auto-approve'];
  return spawn(file, words, {
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: '/dev/null' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
