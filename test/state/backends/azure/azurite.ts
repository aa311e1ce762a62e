import { spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ContainerClient } from '@azure/storage-blob';
import { Secret } from '../../../../src/values/value.ts';

export const hasAzurite = spawnSync('sh', ['-c', 'command -v azurite-blob']).status === 0;

const KEY = randomBytes(64).toString('base64');

/** Ends when its input ends, however the process at the other end terminates. */
const SCRIPT = `
AZURITE_ACCOUNTS="voices:$1" azurite-blob --blobHost 127.0.0.1 --blobPort 0 --inMemoryPersistence \\
  --skipApiVersionCheck --disableTelemetry </dev/null & azurite=$!
cat >/dev/null
kill -9 $azurite
`;

let server: Promise<string> | undefined;

/** Returns the connection string of an Azurite that all tests of this process share. It ends with the process. */
function azurite(): Promise<string> {
  server ??= start();
  return server;
}

async function start(): Promise<string> {
  const child = spawn('sh', ['-c', SCRIPT, 'sh', KEY], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit').then(() => undefined);
  const lines = createInterface({ input: child.stdout });
  const address = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
      if (found !== undefined) resolve(found);
    });
  });
  const found = await Promise.race([address, ended]);
  if (found === undefined) throw new Error('Azurite did not start');
  child.unref();
  for (const stream of [child.stdin, child.stdout]) (stream as unknown as { unref?(): void }).unref?.();
  return `DefaultEndpointsProtocol=http;AccountName=voices;AccountKey=${KEY};BlobEndpoint=${found}/voices;`;
}

/** Returns the project file's settings for a new container, with their secrets. */
export async function azuriteContainer() {
  const connection = await azurite();
  const container = `states-${randomUUID().slice(0, 8)}`;
  await new ContainerClient(connection, container).create();
  return {
    container,
    name: 'states/{workspace}',
    connection_string: new Secret('STATE_CONNECTION', connection),
  };
}
