// Notifies other processes of a job to look at now: it waits for a runner, or was cancelled. The next poll finds what a message missed.

/** The start of our messages; other messages on the channel differ. */
const BEGIN = '{"job":';
const TEXT_MAX = 300;

export interface JobNews {
  /** Never rejects: a process that misses the message polls within seconds. */
  tell(jobId: string): Promise<void>;
  /** Resolves once it listens. `onGap`: messages may have been lost. */
  hear(onJob: (jobId: string) => void, onGap: () => void): Promise<void>;
}

/** Sends texts to all processes that share a store. */
export interface Channel {
  tell(text: string): Promise<void>;
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

/** For a process without peers. */
const NO_NEWS: JobNews = { tell: async () => {}, hear: async () => {} };

function jobIn(text: string): string | null {
  if (!text.startsWith(BEGIN) || text.length > TEXT_MAX) return null;
  try {
    const { job } = JSON.parse(text) as { readonly job: unknown };
    return typeof job === "string" ? job : null;
  } catch {
    return null;
  }
}

/** Sends over the channel of all processes; null where there is none. */
export function jobNews(channel: Channel | null): JobNews {
  if (channel === null) return NO_NEWS;
  return {
    tell: (job) => channel.tell(JSON.stringify({ job })).catch(() => {}),
    hear: (onJob, onGap) =>
      channel.hear((text) => {
        const job = jobIn(text);
        if (job !== null) onJob(job);
      }, onGap),
  };
}
