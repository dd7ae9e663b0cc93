// The configuration of a Ceph of one: one copy of everything, nothing rebalanced, quick to start.

import type { Certificate } from './certificate.ts';

export interface CephPlace {
  readonly dir: string;
  readonly fsid: string;
  readonly durable: boolean;
  /** Bytes of what is stored. */
  readonly capacity: number;
  /** Without the gateway's cache: for half a minute, changes would be told to the cache of one that was killed. */
  readonly killed: boolean;
  readonly host: string;
  readonly monitorPort: number;
  readonly port: number;
  readonly tlsPort: number;
  readonly certificate: Certificate;
}

export function cephConfiguration(place: CephPlace): string {
  const { dir, fsid, durable, capacity, killed, host, monitorPort, port, tlsPort, certificate } = place;
  const { certFile, keyFile } = certificate;
  // Without tcp_nodelay each request takes 40 ms longer.
  const plain = `endpoint=${host}:${port} tcp_nodelay=1`;
  const tls = `ssl_endpoint=${host}:${tlsPort} ssl_certificate=${certFile} ssl_private_key=${keyFile}`;
  const storage = durable
    ? `osd objectstore = bluestore
bluestore block create = true
bluestore block size = ${capacity}
bluestore fsck on mount = false`
    : `osd objectstore = memstore
memstore device bytes = ${capacity}`;
  return `[global]
fsid = ${fsid}
mon host = [v2:${host}:${monitorPort}/0]
mon initial members = a
public addr = ${host}
cluster addr = ${host}
ms bind ipv6 = false
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
auth allow insecure global id reclaim = false
run dir = ${dir}/run
admin socket = ${dir}/run/$name.asok
log file = ${dir}/log/$name.log
crash dir = ${dir}/run
keyring = ${dir}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 4
osd pool default pgp num = 4
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
mon data avail crit = 0
mon data avail warn = 1
mon warn on pool no redundancy = false
mon data = ${dir}/mon
osd data = ${dir}/osd
${storage}
paxos propose interval = 0.05
paxos min wait = 0.01
mon tick interval = 1
osd heartbeat interval = 2
osd class load list = *
osd class default list = *
debug mon = 0
debug osd = 0
debug paxos = 0
debug ms = 0
debug rgw = 0
log to stderr = false
[mon.a]
mon addr = ${host}:${monitorPort}
[client.rgw]
rgw data = ${dir}/rgw
rgw frontends = beast ${plain} ${tls}
rgw dns name = ${host}
rgw thread pool size = 64
rgw cache enabled = ${!killed}
rgw enable usage log = false
rgw enable ops log = false
rgw enable quota threads = false
rgw enable lc threads = false
rgw enable gc threads = false
rgw run sync thread = false
rgw verify ssl = false
`;
}
