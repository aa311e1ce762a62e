import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { type Bucket, keysIn, matchOf, type PutCondition, withoutQuotes } from '../bucket/bucket.ts';
import { WriteConflict } from '../object-store/object-store.ts';
import { Busy } from '../object-store/retries.ts';
import { revealed } from '../settings.ts';
import { StoreRequests, textHeaders } from '../store-requests.ts';
import type { S3Location } from './s3-settings.ts';

const REQUIRED_PERMISSIONS =
  'The credentials need s3:GetObject, s3:PutObject and s3:DeleteObject on the key, and s3:ListBucket: without it, S3 responds with 403 for an object that does not exist.';

/** A bucket of Amazon S3, or of a compatible store. */
export class S3Bucket implements Bucket {
  readonly #settings: S3Location;
  readonly #location: string;
  readonly #client: S3Client;

  /** @throws UserError if credentials are missing. */
  constructor(settings: S3Location, location: string, user: StoreUser) {
    this.#settings = settings;
    this.#location = location;
    this.#client = new S3Client({
      ...(settings.region !== undefined && { region: settings.region }),
      ...(settings.endpoint !== undefined && { endpoint: settings.endpoint }),
      ...(settings.profile !== undefined && { profile: settings.profile }),
      ...credentialsOf(settings),
      forcePathStyle: settings.path_style ?? false,
      followRegionRedirects: true,
      // The SDK must not retry: the retries of the state store check first whether a write was stored.
      maxAttempts: 1,
      // Compatible stores do not support the newer checksums. The signature covers the body anyway.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: requestHandler(location, user),
    });
  }

  async get(name: string, signal: AbortSignal) {
    const command = new GetObjectCommand(this.#target(name));
    return await this.#send('s3:GetObject', async () => {
      const { Body, ETag = '' } = await this.#client.send(command, { abortSignal: signal });
      return { bytes: (await Body?.transformToByteArray()) ?? new Uint8Array(), tag: withoutQuotes(ETag) };
    }).catch((error) => {
      if (error instanceof MissingObject) return undefined;
      throw error;
    });
  }

  async put(name: string, bytes: Uint8Array, signal: AbortSignal, condition?: PutCondition): Promise<string> {
    const { sse, kms_key_id } = this.#settings;
    const command = new PutObjectCommand({
      ...this.#target(name),
      Body: bytes,
      ...(condition !== undefined &&
        ('isAbsent' in condition ? { IfNoneMatch: '*' } : { IfMatch: matchOf(condition) })),
      ...(sse !== undefined && { ServerSideEncryption: sse }),
      ...(kms_key_id !== undefined && { SSEKMSKeyId: kms_key_id }),
    });
    return await this.#send('s3:PutObject', async () => {
      const { ETag = '' } = await this.#client.send(command, { abortSignal: signal });
      return withoutQuotes(ETag);
    }).catch((error) => {
      throw error instanceof MissingObject ? new WriteConflict() : error;
    });
  }

  async list(signal: AbortSignal) {
    const { bucket, key } = this.#settings;
    const found: { name: string; modified: Date }[] = [];
    let ContinuationToken: string | undefined;
    do {
      const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: `${key}/`, ContinuationToken });
      const page = await this.#send('s3:ListBucket', () => this.#client.send(command, { abortSignal: signal }));
      for (const { Key = '', LastModified } of page.Contents ?? []) {
        const name = Key.slice(key.length + 1);
        if (Key.startsWith(`${key}/`) && LastModified !== undefined) found.push({ name, modified: LastModified });
      }
      ContinuationToken = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (ContinuationToken !== undefined);
    return found;
  }

  async siblings(signal: AbortSignal): Promise<readonly string[]> {
    const { bucket, key, siblings } = this.#settings;
    if (siblings === undefined) return [];
    // The first page has up to 1,000 keys, more than the search uses.
    const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: siblings.before, Delimiter: '/' });
    const { CommonPrefixes = [] } = await this.#send('s3:ListBucket', () =>
      this.#client.send(command, { abortSignal: signal }),
    );
    const folders = CommonPrefixes.map(({ Prefix = '' }) => Prefix);
    return keysIn(folders, siblings).filter((each) => each !== key);
  }

  async remove(name: string, signal: AbortSignal): Promise<void> {
    const command = new DeleteObjectCommand(this.#target(name));
    await this.#send('s3:DeleteObject', () => this.#client.send(command, { abortSignal: signal }));
  }

  #target(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#settings.bucket, Key: `${this.#settings.key}/${name}` };
  }

  async #send<T>(permission: string, send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      throw this.#problem(error, permission);
    }
  }

  #problem(error: unknown, permission: string): unknown {
    if (error instanceof UserError) return error;
    const { bucket } = this.#settings;
    const { name = '', $metadata } = error as { name?: string; $metadata?: { httpStatusCode?: number } };
    const status = $metadata?.httpStatusCode;
    if (status === undefined) return this.#problemWithoutResponse(error, name);
    const reason = `${status} ${/^\w{1,60}$/.test(name) ? name : 'unknown error'}`;
    if (status === 412) return new WriteConflict();
    if (name === 'NoSuchBucket') {
      return new UserError(`the bucket ${bucket} of the state ${this.#location} does not exist`, {
        hint: 'Create it, or correct state.bucket, state.region and state.endpoint.',
      });
    }
    if (name === 'NoSuchKey') return new MissingObject(reason);
    // The 404 of a gateway must not be mistaken for a missing state, because a second state would be created.
    if (status === 404) return new Error('the response was 404 without the error code NoSuchKey of S3');
    // A retry helps, because the SDK corrects its clock from this response.
    if (name === 'RequestTimeTooSkewed') return new Error(`${reason}: the clock of this machine is wrong`);
    if (['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken'].includes(name)) {
      return new UserError(`the store of the state ${this.#location} rejected the credentials (${reason})`, {
        hint: 'Check state.access_key_id and state.secret_access_key, or the credentials of the AWS SDK.',
      });
    }
    if (status === 401 || status === 403) {
      return new UserError(`no permission ${permission} for the state ${this.#location} (${reason})`, {
        hint: REQUIRED_PERMISSIONS,
      });
    }
    if (status === 501) {
      return new UserError(`the store of the state ${this.#location} does not support conditional writes (${reason})`, {
        hint: 'Use Amazon S3, or another store with conditional writes.',
      });
    }
    if (status === 429 || status === 503) return new Busy(`the store responded with ${reason}`, undefined);
    // Amazon responds with 409 if two conditional writes overlap. The write may be retried.
    if (status >= 500 || status === 408 || status === 409) return new Error(`the store responded with ${reason}`);
    return new UserError(`the store of the state ${this.#location} refused a request (${reason})`, {
      hint: 'Check state.bucket, state.region and state.endpoint.',
    });
  }

  #problemWithoutResponse(error: unknown, name: string): unknown {
    const message = errorMessage(error);
    if (name === 'CredentialsProviderError' || name === 'TokenProviderError') {
      return new UserError(`no AWS credentials for the state ${this.#location}: ${message}`, {
        hint: 'Sign in with the AWS command line, set AWS_PROFILE, or set state.access_key_id and state.secret_access_key.',
      });
    }
    if (message.startsWith('Region is missing')) {
      return new UserError(`no region for the state ${this.#location}`, {
        hint: 'Set state.region or AWS_REGION.',
      });
    }
    return error;
  }
}

class MissingObject extends Error {}

function credentialsOf(settings: S3Location) {
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token, isFetched } = settings;
  if ((accessKeyId === undefined) !== (secretAccessKey === undefined)) {
    throw new UserError('state.access_key_id and state.secret_access_key must be set together', {
      hint: 'Set both, or set neither to use the default credentials of the AWS SDK.',
    });
  }
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    if (!isFetched) return {};
    throw new UserError('a project fetched by a fleet needs its own credentials for a state in S3', {
      hint: 'Set state.access_key_id and state.secret_access_key. A fetched project must not use the credentials of the machine.',
    });
  }
  const credentials = {
    accessKeyId: revealed('access_key_id', accessKeyId),
    secretAccessKey: revealed('secret_access_key', secretAccessKey),
    ...(session_token !== undefined && { sessionToken: revealed('session_token', session_token) }),
  };
  return { credentials };
}

type Handler = Exclude<NonNullable<S3ClientConfig['requestHandler']>, { requestTimeout?: unknown }>;
type HttpRequest = Parameters<Extract<Handler, { handle: unknown }>['handle']>[0];

/** Sends the requests of the AWS SDK. */
function requestHandler(location: string, user: Pick<StoreUser, 'network' | 'debug'>): Handler {
  const requests = new StoreRequests({ location, setting: 'state.endpoint', user });
  const handler = {
    metadata: { handlerProtocol: 'http/1.1' },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
    async handle(request: HttpRequest, { abortSignal }: { abortSignal?: unknown } = {}) {
      // undici refuses the header `expect`. Ceph returns lists in JSON unless `accept` is */*. The signature covers neither header.
      const { expect: _, ...headers } = { ...request.headers, accept: '*/*' };
      const { method, body } = request;
      const response = await requests.send({ method, url: addressOf(request), headers, body, signal: abortSignal });
      return {
        response: { statusCode: response.status, headers: textHeaders(response), body: Readable.from([response.body]) },
      };
    },
  };
  return handler as unknown as Handler;
}

function addressOf({ protocol, hostname, port, path, query }: HttpRequest): URL {
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) => {
    const values = Array.isArray(value) ? value : [value ?? ''];
    return values.map((each) => `${percentEncode(name)}=${percentEncode(each)}`);
  });
  const search = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  return new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${search}`);
}

/** Percent-encodes text as in RFC 3986. The signature requires the same encoding. */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
