import { spawn, spawnSync } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutBucketVersioningCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { Secret } from '../../../../src/values/value.ts';

export const hasRadosgw = ['radosgw', 'ceph-mon', 'ceph-osd', 'radosgw-admin', 'monmaptool'].every(
  (name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0,
);

const ID = 'AKIAVOXFORMTEST';

/** A cluster of one node. Ends when its input ends, however the process at the other end terminates. */
const SCRIPT = `
cd "$1" || exit 1
trap '' INT TERM
monmaptool --create --addv a "[v2:127.0.0.1:$2]" --fsid "$4" map >&2 &&
ceph-mon -c ceph.conf --mkfs -i a --monmap map >&2 || exit 1
ceph-mon -c ceph.conf -i a -f </dev/null >&2 & mon=$!
timeout 30 ceph -c ceph.conf osd new "$5" >&2 &&
ceph-osd -c ceph.conf --mkfs -i 0 --osd-uuid "$5" >&2 || { kill -9 $mon; exit 1; }
ceph-osd -c ceph.conf -i 0 -f </dev/null >&2 & osd=$!
timeout 60 radosgw-admin -c ceph.conf user create --uid=test --display-name=test \\
  --access-key=${ID} --secret-key="$3" >&2 || { kill -9 $mon $osd; exit 1; }
radosgw -c ceph.conf -n client.rgw -f </dev/null >&2 & rgw=$!
echo started
cat >/dev/null
kill -9 $rgw $osd $mon
wait
cd / && rm -rf "$1"
`;

export interface Radosgw extends AsyncDisposable {
  readonly port: number;
  /** Returns the project file's settings, with their secrets, for the bucket `voices`. */
  settings(key?: string): Record<string, unknown> & { readonly endpoint: string };
  /** Enables versions of objects in the bucket. */
  keepVersions(): Promise<void>;
  /** Returns the text of all objects in the bucket. */
  contents(): Promise<string>;
}

/** Starts Ceph's S3 server. */
export async function startRadosgw(secret: string): Promise<Radosgw> {
  const folder = mkdtempSync(path.join(tmpdir(), 'voxform-ceph-'));
  const [monitor, port] = [await freePort(), await freePort()];
  const [cluster, disk] = [randomUUID(), randomUUID()];
  for (const name of ['mon', 'osd', 'rgw']) mkdirSync(path.join(folder, name));
  writeFileSync(path.join(folder, 'ceph.conf'), configuration({ folder, cluster, monitor, port }));
  const log: Buffer[] = [];
  const child = spawn('sh', ['-c', SCRIPT, 'sh', folder, String(monitor), secret, cluster, disk], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stderr.on('data', (chunk: Buffer) => log.push(chunk));
  const ended = once(child, 'exit');
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  const started = await Promise.race([once(child.stdout, 'data'), ended.then(() => undefined)]);
  if (started === undefined) throw new Error(`Ceph did not start: ${Buffer.concat(log).toString()}`);
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new S3Client({
    endpoint,
    region: 'default',
    forcePathStyle: true,
    maxAttempts: 50,
    credentials: { accessKeyId: ID, secretAccessKey: secret },
  });
  await client.send(new CreateBucketCommand({ Bucket: 'voices' })).catch(async (error) => {
    await stop();
    throw error;
  });
  return {
    port,
    async keepVersions() {
      const VersioningConfiguration = { Status: 'Enabled' } as const;
      await client.send(new PutBucketVersioningCommand({ Bucket: 'voices', VersioningConfiguration }));
    },
    async contents() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: 'voices' }));
      const texts = Contents.map(async ({ Key }) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: 'voices', Key }));
        return `${Key}\n${await Body?.transformToString()}`;
      });
      return (await Promise.all(texts)).join('\n');
    },
    settings: (key = 'states/{workspace}') => ({
      bucket: 'voices',
      key,
      region: 'default',
      endpoint,
      path_style: true,
      access_key_id: ID,
      secret_access_key: new Secret('STATE_SECRET', secret),
    }),
    [Symbol.asyncDispose]: stop,
  };
}

function configuration(the: {
  readonly folder: string;
  readonly cluster: string;
  readonly monitor: number;
  readonly port: number;
}): string {
  const { folder, cluster, monitor, port } = the;
  return `[global]
fsid = ${cluster}
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
mon host = v2:127.0.0.1:${monitor}
public addr = 127.0.0.1
paxos propose interval = 0.01
mon data = ${folder}/mon
mon cluster log file = ${folder}/cluster.log
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 268435456
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
mon allow pool size one = true
run dir = ${folder}
admin socket = ${folder}/$name.asok
log file = ${folder}/$name.log
rgw data = ${folder}/rgw
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw dynamic resharding = false
`;
}

/** Returns a port below those of outgoing connections, which Ceph could occupy. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
