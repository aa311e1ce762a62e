import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createHttpHeaders, type HttpClient } from '@azure/core-rest-pipeline';
import type { ContainerClient, StoragePipelineOptions } from '@azure/storage-blob';
import { errorMessage } from '../../../problems/error-code.ts';
import { UserError } from '../../../problems/user-error.ts';
import type { StoreUser } from '../backend.ts';
import { type Bucket, keysIn, matchOf, type PutCondition, withoutQuotes } from '../bucket/bucket.ts';
import { WriteConflict } from '../object-store/object-store.ts';
import { Busy } from '../object-store/retries.ts';
import { revealed } from '../settings.ts';
import { StoreRequests, textHeaders } from '../store-requests.ts';
import type { AzureLocation } from './azure-settings.ts';

const REQUIRED_ROLE = 'The identity needs the role "Storage Blob Data Contributor" on the container.';

/** @throws UserError if the settings or the credentials are incomplete. */
export async function openContainer(settings: AzureLocation, location: string, user: StoreUser): Promise<Bucket> {
  const { connection_string: connectionString, sas_token: sasToken, container, isFetched } = settings;
  const { AnonymousCredential, ContainerClient } = await import('@azure/storage-blob');
  // The SDK must not retry: the retries of the state store check first whether a write was stored.
  const client = httpClient(location, user);
  // The type lacks `httpClient`, but the client passes this option on to its pipeline.
  const options = {
    httpClient: client as unknown as StoragePipelineOptions['httpClient'],
    retryOptions: { maxTries: 1 },
  } as StoragePipelineOptions;
  if (connectionString !== undefined) {
    const text = revealed('connection_string', connectionString);
    try {
      return new AzureContainer(new ContainerClient(text, container, options), settings, location);
    } catch {
      throw new UserError(`${connectionString.name} is not a connection string of Azure Storage`, {
        hint: 'Copy it from the Azure portal: Security + networking > Access keys.',
      });
    }
  }
  if (settings.account === undefined && settings.endpoint === undefined) {
    throw new UserError('state.account is not set', { hint: 'Set state.account or state.connection_string.' });
  }
  const base = (settings.endpoint ?? `https://${settings.account}.blob.core.windows.net`).replace(/\/$/, '');
  const url = `${base}/${container}`;
  if (sasToken !== undefined) {
    const query = revealed('sas_token', sasToken).replace(/^\?/, '');
    return new AzureContainer(
      new ContainerClient(`${url}?${query}`, new AnonymousCredential(), options),
      settings,
      location,
    );
  }
  if (isFetched) {
    throw new UserError('a project fetched by a fleet needs its own credentials for a state in Azure', {
      hint: 'Set state.connection_string or state.sas_token. A fetched project must not use the credentials of the machine.',
    });
  }
  const { DefaultAzureCredential } = await import('@azure/identity');
  const credential = new DefaultAzureCredential({ httpClient: client });
  return new AzureContainer(new ContainerClient(url, credential, options), settings, location);
}

class AzureContainer implements Bucket {
  readonly #client: ContainerClient;
  readonly #settings: AzureLocation;
  readonly #location: string;

  constructor(client: ContainerClient, settings: AzureLocation, location: string) {
    this.#client = client;
    this.#settings = settings;
    this.#location = location;
  }

  async get(name: string, abortSignal: AbortSignal) {
    try {
      const options = { abortSignal, maxRetryRequests: 0 };
      const { readableStreamBody, etag = '' } = await this.#blob(name).download(0, undefined, options);
      const bytes = readableStreamBody === undefined ? new Uint8Array() : await buffer(readableStreamBody);
      return { bytes, tag: withoutQuotes(etag) };
    } catch (error) {
      if (codeOf(error) === 'BlobNotFound') return undefined;
      throw this.#problem(error);
    }
  }

  async put(name: string, bytes: Uint8Array, abortSignal: AbortSignal, condition?: PutCondition) {
    try {
      const options = {
        abortSignal,
        ...(condition && {
          conditions: 'isAbsent' in condition ? { ifNoneMatch: '*' } : { ifMatch: matchOf(condition) },
        }),
      };
      const { etag = '' } = await this.#blob(name).upload(Buffer.from(bytes), bytes.length, options);
      return withoutQuotes(etag);
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async list(abortSignal: AbortSignal) {
    const { name: key } = this.#settings;
    const found: { name: string; modified: Date }[] = [];
    try {
      for await (const { name, properties } of this.#client.listBlobsFlat({
        prefix: `${key}/`,
        abortSignal,
      })) {
        found.push({ name: name.slice(key.length + 1), modified: properties.lastModified });
      }
      return found;
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async siblings(abortSignal: AbortSignal): Promise<readonly string[]> {
    const { name: key, siblings } = this.#settings;
    if (siblings === undefined) return [];
    try {
      const pages = this.#client.listBlobsByHierarchy('/', { prefix: siblings.before, abortSignal }).byPage();
      // The first page has up to 5,000 keys, more than the search uses.
      const { value } = await pages.next();
      const folders = (value?.segment.blobPrefixes ?? []).map(({ name }: { readonly name: string }) => name);
      return keysIn(folders, siblings).filter((each) => each !== key);
    } catch (error) {
      throw this.#problem(error);
    }
  }

  async remove(name: string, abortSignal: AbortSignal): Promise<void> {
    try {
      await this.#blob(name).deleteIfExists({ abortSignal });
    } catch (error) {
      throw this.#problem(error);
    }
  }

  #blob(name: string) {
    return this.#client.getBlockBlobClient(`${this.#settings.name}/${name}`);
  }

  #problem(error: unknown): unknown {
    if (error instanceof UserError) return error;
    const { statusCode: status, name = '' } = error as { statusCode?: number; name?: string };
    const code = codeOf(error);
    const reason = [status, code].filter((each) => each !== undefined).join(' ');
    if (/Credential|Authentication/.test(name)) {
      return new UserError(`no Azure credentials for the state ${this.#location}: ${firstLine(error)}`, {
        hint: 'Sign in with az login, or set state.connection_string or state.sas_token.',
      });
    }
    if (status === undefined) return error;
    if (status === 412 || code === 'BlobAlreadyExists') return new WriteConflict();
    if (code === 'ContainerNotFound') {
      return new UserError(`the container ${this.#settings.container} of the state ${this.#location} does not exist`, {
        hint: 'Create it, or correct state.account, state.container and state.endpoint.',
      });
    }
    if (status === 401 || code === 'AuthenticationFailed') {
      return new UserError(`Azure rejected the credentials of the state ${this.#location} (${reason})`, {
        hint: 'Check state.connection_string or state.sas_token, or sign in with az login.',
      });
    }
    if (status === 403) {
      return new UserError(`no permission for the state ${this.#location} (${reason})`, { hint: REQUIRED_ROLE });
    }
    if (status === 429 || status === 503) return new Busy(`Azure responded with ${reason}`, undefined);
    if (status >= 500 || status === 408 || status === 409) return new Error(`Azure responded with ${reason}`);
    return new UserError(`Azure refused a request for the state ${this.#location} (${reason})`, {
      hint: 'Check state.account, state.container and state.endpoint.',
    });
  }
}

/** Azure's error code, such as `BlobNotFound`. */
function codeOf(error: unknown): string | undefined {
  const { code, details } = error as { code?: unknown; details?: { errorCode?: unknown } };
  const found = typeof details?.errorCode === 'string' ? details.errorCode : code;
  return typeof found === 'string' && /^\w{1,60}$/.test(found) ? found : undefined;
}

function firstLine(error: unknown): string {
  return errorMessage(error).split('\n')[0] ?? '';
}

/** Sends the requests of the Azure SDK. */
function httpClient(location: string, user: Pick<StoreUser, 'network' | 'debug'>): HttpClient {
  const requests = new StoreRequests({ location, setting: 'state.endpoint', user });
  return {
    async sendRequest(request) {
      const { method, url, body: requestBody, abortSignal: signal, streamResponseStatusCodes: streamed } = request;
      const headers = sdkHeaders(request.headers);
      const response = await requests.send({ method, url: new URL(url), headers, body: requestBody, signal });
      const { status, body } = response;
      const responseHeaders = textHeaders(response);
      // The SDK uses infinity for "all statuses".
      const isStreamed = streamed?.has(status) === true || streamed?.has(Number.POSITIVE_INFINITY) === true;
      return {
        request,
        status,
        headers: Object.assign(createHttpHeaders(responseHeaders), { toJson: () => responseHeaders }),
        ...(isStreamed ? { readableStreamBody: Readable.from([body]) } : { bodyAsText: body.toString() }),
      };
    },
  };
}

/** Converts the headers of a request. The storage client still uses an older type of headers. */
function sdkHeaders(headers: object): Record<string, string> {
  const { toJSON, toJson } = headers as Record<string, (() => Record<string, string>) | undefined>;
  return (toJson ?? toJSON)?.call(headers) ?? {};
}
