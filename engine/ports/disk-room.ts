// Whether there is room to write on all disks that this process writes to.

export interface DiskRoom {
  /** A sentence for people that names the full disk; undefined while all have room. Never rejects, and returns quickly. */
  lack(): Promise<string | undefined>;
}
