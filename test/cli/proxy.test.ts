import http from 'node:http';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectProxy, secureServer, selfSigned } from '../platform/connect-proxy.ts';
import { agentManifest, type TestWorkspace, testWorkspace } from './workspace.ts';

const identity = selfSigned();
const HOST = 'platform.example.com';

/** A project whose platform is only reachable through a proxy, over TLS, with a certificate that Node does not know. */
async function behindProxy(settings = '') {
  const workspace = await testWorkspace({
    'manifests/a.yaml': agentManifest('support'),
    'ca.pem': identity.cert,
  });
  const server = await secureServer(identity, (request, response) => {
    const { method, url, headers } = request;
    const onward = http.request(new URL(url ?? '', workspace.emulator.url), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  const proxy = await connectProxy(server.port);
  await use(workspace, settings);
  return {
    workspace,
    proxy,
    env: { HTTPS_PROXY: `http://ann:hunter2hunter2@127.0.0.1:${proxy.port}` },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await workspace[Symbol.asyncDispose]();
    },
  };
}

function use({ folder, emulator }: TestWorkspace, settings: string): Promise<void> {
  return folder.write(
    'voxform.yaml',
    `version: 1
workspaces:
  test:
    base_url: https://${HOST}
    workspace_id: ${emulator.workspaceId}
    api_key: { $secret: VOXFORM_API_KEY }
${settings}`,
  );
}

describe('a platform behind a proxy', () => {
  it('is applied through the proxy, trusted with ca_file, without the password in the output', async () => {
    await using setup = await behindProxy('    ca_file: ca.pem\n');
    const { workspace, proxy, env } = setup;
    await workspace.run('state', 'init');
    const applied = await workspace.runWith(env, 'apply', '--auto-approve', '-v');
    expect(applied).toMatchObject({ code: 0 });
    expect(proxy.asked[0]).toBe(`CONNECT ${HOST}:443`);
    expect(applied.stderr).toContain(`through the proxy 127.0.0.1:${proxy.port} (HTTPS_PROXY)`);
    proxy.answer = 407;
    const refused = await workspace.runWith(env, 'plan', '-v', '--output', 'json');
    expect(refused.code).toBe(1);
    expect(refused.stdout + refused.stderr).toContain('rejected the user name and password in HTTPS_PROXY (407)');
    expect(refused.stdout + refused.stderr).toContain('password of the proxy in HTTPS_PROXY');
    expect(refused.stdout + refused.stderr).not.toContain('base_url (');
    const all = [applied, refused].map(({ stdout, stderr }) => stdout + stderr).join();
    expect(all).not.toContain('hunter2');
    expect(all).not.toContain(Buffer.from('ann:hunter2hunter2').toString('base64'));
    expect(workspace.writes()).toBe(1);
  });

  it('is trusted with NODE_EXTRA_CA_CERTS', { tags: ['long'] }, async () => {
    await using setup = await behindProxy();
    const { workspace, env } = setup;
    const refused = await workspace.start(['get', 'numbers'], { env }).ended;
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('certificate') });
    const NODE_EXTRA_CA_CERTS = path.join(workspace.folder.root, 'ca.pem');
    const planned = await workspace.start(['get', 'numbers'], { env: { ...env, NODE_EXTRA_CA_CERTS } }).ended;
    expect(planned).toMatchObject({ code: 0 });
  });

  it('is not reached through a proxy that is only set in .env', { tags: ['long'] }, async () => {
    await using setup = await behindProxy('    ca_file: ca.pem\n');
    const { workspace, proxy, env } = setup;
    await workspace.folder.write('.env', `HTTPS_PROXY=${env.HTTPS_PROXY}\n`);
    expect((await workspace.run('get', 'numbers')).code).toBe(1);
    expect(proxy.asked).toEqual([]);
  });
});

describe('ca_file', () => {
  it.each([
    { file: 'none.pem', problem: 'the file cannot be read: no such file' },
    { file: 'voxform.yaml', problem: 'the file contains no PEM certificate' },
    { file: 'broken.pem', problem: 'certificate 1 of the file cannot be read' },
  ])('is invalid: $problem', async ({ file, problem }) => {
    await using workspace = await testWorkspace({
      'manifests/a.yaml': agentManifest('support'),
      'broken.pem': '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    });
    await use(workspace, `    ca_file: ${file}\n`);
    const { code, stdout } = await workspace.run('validate');
    expect(code).toBe(1);
    expect(stdout).toContain(`voxform.yaml:7:14  "${file}" cannot be used: ${problem}`);
  });
});
