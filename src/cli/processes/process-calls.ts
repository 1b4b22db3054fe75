/** Calls between the main process of a service and the processes that serve its API, over `RpcPeer`. */
import type { Config } from '../../config/config.ts';

/** Name of the socket in the data folder, by which the API processes reach the main process. */
export const PROCESS_SOCKET = 'quire-processes.sock';

/** Call `hello` of an API process: its first one. */
export interface HelloInput {
  name: string;
}

/** Result of `hello`: what the process starts with. */
export interface HelloResult {
  /** The configuration in force. */
  config: Config;
  /** The port of the service; 0 for the first process chooses one. */
  port: number;
  /** Folder of the socket of the embedded database; null without one. */
  socketFolder: string | null;
}

/** Call `ready` of an API process, which has begun to listen. */
export interface ReadyInput {
  port: number;
}

/** Call `failed` of an API process that cannot start. The message is for the operator. */
export interface FailedInput {
  message: string;
}

/** Call `reload` of the main process: the configuration that it has applied. */
export interface ReloadInput {
  config: Config;
}
