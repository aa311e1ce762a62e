import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Secret } from '../../../../src/values/value.ts';

export interface S3Request {
  readonly method: string;
  /** `/BUCKET/KEY`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface S3Object {
  readonly bytes: Buffer;
  readonly etag: string;
  modified: Date;
  readonly headers: IncomingHttpHeaders;
}

interface Answer {
  readonly status: number;
  readonly code?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

/** `lost`: executed, but the connection ends without a response. `cut`: not executed. */
type Fault = 'lost' | 'cut' | Answer | undefined;

/**
 * `amazon`: only quoted tags. `bare`: only unquoted tags, as in Ceph. `unconditional`: conditions are ignored.
 * `absent-only`: only `If-None-Match` is honored.
 */
export type S3Rules = 'amazon' | 'bare' | 'unconditional' | 'absent-only';

/** The web identity that the server exchanges for credentials. */
export const JOB_TOKEN = 'token-for-sts.amazonaws.com';
export const S3_ID = 'AKIAVOXFORMTEST';
export const S3_SECRET = 's3-secret-k3y/of+tests';

/**
 * A server as strict as Amazon S3 in the features that voxform uses: signatures, conditions, regions, missing buckets.
 */
export class S3Server {
  readonly buckets = new Map<string, Map<string, S3Object>>([['voices', new Map()]]);
  readonly requests: S3Request[] = [];
  rules: S3Rules = 'amazon';
  region = 'eu-central-1';
  /** Set to a secret that differs from the settings. */
  secret = S3_SECRET;
  /** The number of milliseconds that the server's clock is ahead. */
  ahead = 0;
  fault: ((request: S3Request) => Fault) | undefined;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<S3Server> {
    const server = createServer((request, response) => {
      void self.#serve(request).then((answer) => {
        if (answer === undefined) {
          request.socket.destroy();
          return;
        }
        const { status, code, headers, body = code === undefined ? '' : errorBody(code) } = answer;
        response.writeHead(status, {
          date: new Date(self.#now()).toUTCString(),
          ...(code !== undefined && { 'content-type': 'application/xml' }),
          ...headers,
          'content-length': Buffer.byteLength(body),
        });
        response.end(body);
      });
    });
    const self = new S3Server(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return self;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Returns the project file's settings, with their secrets. */
  settings(key = 'states/{workspace}') {
    return {
      bucket: 'voices',
      key,
      region: this.region,
      endpoint: this.url,
      path_style: true,
      access_key_id: S3_ID,
      secret_access_key: new Secret('STATE_SECRET', S3_SECRET),
    };
  }

  /** Returns the objects of a bucket by key. */
  objects(bucket = 'voices'): Map<string, S3Object> {
    return this.buckets.get(bucket) ?? new Map();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #now(): number {
    return Date.now() + this.ahead;
  }

  async #serve(incoming: IncomingMessage): Promise<Answer | undefined> {
    const url = new URL(incoming.url ?? '/', this.url);
    const { method = '', headers } = incoming;
    // The bucket is in the host or in the path.
    const [, bucket] = /^([^.]+)\.s3\.example\.com$/.exec(headers.host ?? '') ?? [];
    const request: S3Request = {
      method,
      path: (bucket === undefined ? '' : `/${bucket}`) + decodeURIComponent(url.pathname),
      query: url.searchParams,
      headers,
      body: await buffer(incoming),
    };
    this.requests.push(request);
    const fault = this.fault?.(request);
    if (fault === 'cut') return undefined;
    if (typeof fault === 'object') return fault;
    if (request.body.includes('Action=AssumeRoleWithWebIdentity')) return roleCredentials(request.body);
    const answer = this.#refusal(request, url) ?? this.#answer(request);
    return fault === 'lost' ? undefined : answer;
  }

  #refusal(request: S3Request, url: URL): Answer | undefined {
    const { headers } = request;
    const [, id, day, region, names, signature] =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
        headers.authorization ?? '',
      ) ?? [];
    if (!id || !day || !region || !names || !signature) return { status: 403, code: 'AccessDenied' };
    if (id !== S3_ID) return { status: 403, code: 'InvalidAccessKeyId' };
    const stamp = String(headers['x-amz-date']);
    const time = Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));
    if (Math.abs(time - this.#now()) > 900_000) return { status: 403, code: 'RequestTimeTooSkewed' };
    const digest = createHash('sha256').update(request.body).digest('hex');
    if (headers['x-amz-content-sha256'] !== digest) return { status: 400, code: 'XAmzContentSHA256Mismatch' };
    const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).toSorted();
    const canonical = [
      request.method,
      url.pathname,
      query.join('&'),
      ...names.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}`),
      '',
      names,
      digest,
    ].join('\n');
    const scope = `${day}/${region}/s3/aws4_request`;
    const text = ['AWS4-HMAC-SHA256', stamp, scope, createHash('sha256').update(canonical).digest('hex')].join('\n');
    const key = [day, region, 's3', 'aws4_request'].reduce(
      (from: Buffer | string, part) => createHmac('sha256', from).update(part).digest(),
      `AWS4${this.secret}`,
    );
    if (createHmac('sha256', key).update(text).digest('hex') !== signature) {
      return { status: 403, code: 'SignatureDoesNotMatch' };
    }
    if (region !== this.region) {
      const headers = { 'x-amz-bucket-region': this.region };
      return { status: 301, code: 'PermanentRedirect', headers };
    }
    return undefined;
  }

  #answer(request: S3Request): Answer {
    const [, bucket = '', key = ''] = /^\/([^/]+)\/?(.*)$/s.exec(request.path) ?? [];
    const objects = this.buckets.get(bucket);
    if (objects === undefined) return { status: 404, code: 'NoSuchBucket' };
    if (request.method === 'GET' && key === '') return listing(bucket, objects, request.query);
    const had = objects.get(key);
    switch (request.method) {
      case 'GET':
        return had === undefined
          ? { status: 404, code: 'NoSuchKey' }
          : { status: 200, headers: headersOf(had), body: had.bytes };
      case 'PUT': {
        const refusal = this.#conditionOf(request.headers, had);
        if (refusal !== undefined) return refusal;
        const etag = createHash('md5').update(request.body).digest('hex');
        const { headers, body } = request;
        objects.set(key, { bytes: body, etag, modified: new Date(this.#now()), headers });
        return { status: 200, headers: { etag: `"${etag}"` } };
      }
      case 'DELETE':
        objects.delete(key);
        return { status: 204 };
      default:
        return { status: 405, code: 'MethodNotAllowed' };
    }
  }

  #conditionOf(headers: IncomingHttpHeaders, had: S3Object | undefined): Answer | undefined {
    if (this.rules === 'unconditional') return undefined;
    const failed = { status: 412, code: 'PreconditionFailed' };
    if (headers['if-none-match'] === '*' && had !== undefined) return failed;
    const wanted = headers['if-match'];
    if (wanted === undefined || this.rules === 'absent-only') return undefined;
    if (had === undefined) return { status: 404, code: 'NoSuchKey' };
    return wanted === (this.rules === 'bare' ? had.etag : `"${had.etag}"`) ? undefined : failed;
  }
}

/** Returns a response of the Security Token Service. */
function roleCredentials(body: Buffer): Answer {
  const given = new URLSearchParams(body.toString());
  if (given.get('WebIdentityToken') !== JOB_TOKEN) return { status: 400, code: 'InvalidIdentityToken' };
  return {
    status: 200,
    headers: { 'content-type': 'text/xml' },
    body: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${S3_ID}</AccessKeyId><SecretAccessKey>${S3_SECRET}</SecretAccessKey><SessionToken>session-of-the-role</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
  };
}

/** Lists two keys per page, so that tests read several pages. */
function listing(bucket: string, objects: ReadonlyMap<string, S3Object>, query: URLSearchParams): Answer {
  const prefix = query.get('prefix') ?? '';
  const delimiter = query.get('delimiter');
  if (delimiter !== null) return folders(bucket, objects, { prefix, delimiter });
  const after = query.get('continuation-token') ?? '';
  const all = [...objects].filter(([key]) => key.startsWith(prefix) && key > after).toSorted();
  const page = all.slice(0, 2);
  const contents = page.map(
    ([key, { etag, modified, bytes }]) =>
      `<Contents><Key>${key}</Key><LastModified>${modified.toISOString()}</LastModified><ETag>"${etag}"</ETag><Size>${bytes.length}</Size></Contents>`,
  );
  const more = all.length > page.length;
  const next = more ? `<NextContinuationToken>${page.at(-1)?.[0]}</NextContinuationToken>` : '';
  return {
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0"?><ListBucketResult><Name>${bucket}</Name><Prefix>${prefix}</Prefix><IsTruncated>${more}</IsTruncated>${next}${contents.join('')}</ListBucketResult>`,
  };
}

function folders(
  bucket: string,
  objects: ReadonlyMap<string, S3Object>,
  { prefix, delimiter }: { readonly prefix: string; readonly delimiter: string },
): Answer {
  const found = [...objects.keys()].flatMap((key) => {
    const end = key.indexOf(delimiter, prefix.length);
    return key.startsWith(prefix) && end !== -1 ? [key.slice(0, end + 1)] : [];
  });
  const shown = [...new Set(found)].map((each) => `<CommonPrefixes><Prefix>${each}</Prefix></CommonPrefixes>`);
  return {
    status: 200,
    headers: { 'content-type': 'application/xml' },
    body: `<?xml version="1.0"?><ListBucketResult><Name>${bucket}</Name><IsTruncated>false</IsTruncated>${shown.join('')}</ListBucketResult>`,
  };
}

function headersOf({ etag, modified }: S3Object): Record<string, string> {
  return {
    etag: `"${etag}"`,
    'last-modified': modified.toUTCString(),
    'content-type': 'application/octet-stream',
  };
}

function errorBody(code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code><Message>of the test</Message></Error>`;
}

function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
