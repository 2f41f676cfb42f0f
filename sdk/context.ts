import type { HttpClient } from "./http/client.ts";

/** A WebSocket class: the runtime's own, or that of the package `ws`. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => WebSocket;

/** The parts that all resources of a `Svc` share. */
export interface Context {
  http: HttpClient;
  WebSocket: WebSocketClass | undefined;
}
