// Processes tell each other to look at a job at once: it waits for a runner, or was cancelled. What is missed is found at the next beat.

/** Of a message that is ours; what else is told on that channel does not begin so. */
const BEGIN = '{"job":';
const TEXT_MAX = 300;

export interface JobNews {
  /** Never rejects: a process that has not heard looks by itself within seconds. */
  tell(jobId: string): Promise<void>;
  /** `onGap`: something may have been missed. Answers once it listens. */
  hear(onJob: (jobId: string) => void, onGap: () => void): Promise<void>;
}

/** How all processes of a store are told something. */
export interface Channel {
  tell(text: string): Promise<void>;
  hear(onText: (text: string) => void, onGap: () => void): Promise<void>;
}

/** Where this process is all there is, there is none to tell. */
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

/** Over the channel of all processes; null: there is none. */
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
