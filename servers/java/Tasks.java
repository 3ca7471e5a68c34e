import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;

/**
 * Runs tasks on an executor, again and again, and prints each run as a line of JSON: `Tasks WORK TASKS EXECUTOR WARMUP
 * RUNS`. A run includes making the executor, submitting, waiting and closing it. Times are nanoseconds from its begin.
 */
public final class Tasks {
    private static final long MOST_STEPS = 10_000_000_000L; // as rig/tasks/work.py takes them
    private static final long NS_PER_MS = 1_000_000;

    /** What a task does; gives its part of the checksum. */
    private interface Work {
        long run(int task) throws InterruptedException;
    }

    /** Makes the executor of a run. */
    private interface Maker {
        ExecutorService make() throws ReflectiveOperationException;
    }

    private static final class Misuse extends Exception {
        Misuse(String message) {
            super(message);
        }
    }

    private Tasks() {}

    public static void main(String[] arguments) throws Exception {
        try {
            if (arguments.length != 5) {
                throw new Misuse("five arguments are needed: WORK TASKS EXECUTOR WARMUP RUNS");
            }
            Work work = work(arguments[0]);
            int tasks = whole("TASKS", arguments[1], 1);
            Maker maker = maker(arguments[2]);
            int warmup = whole("WARMUP", arguments[3], 0);
            int runs = whole("RUNS", arguments[4], 1);
            for (int run = 1 - warmup; run <= runs; run++) {
                String line = run(run, work, tasks, maker);
                if (run > 0) {
                    System.out.println(line);
                }
            }
        } catch (Misuse misuse) {
            System.err.println(misuse.getMessage());
            System.exit(2);
        }
    }

    private static String run(int run, Work work, int tasks, Maker maker)
            throws ReflectiveOperationException, InterruptedException, ExecutionException {
        long[] begun = new long[tasks];
        long[] done = new long[tasks];
        var results = new ArrayList<Future<Long>>(tasks);
        long sum = 0;
        long start = System.nanoTime();
        ExecutorService executor = maker.make();
        for (int task = 0; task < tasks; task++) {
            int number = task;
            results.add(executor.submit(() -> {
                begun[number] = System.nanoTime() - start;
                long result = work.run(number);
                done[number] = System.nanoTime() - start;
                return result;
            }));
        }
        for (Future<Long> result : results) {
            sum += result.get();
        }
        executor.shutdown();
        executor.awaitTermination(Long.MAX_VALUE, TimeUnit.NANOSECONDS);
        long wall = System.nanoTime() - start;
        return "{\"run\": " + run + ", \"wall_ns\": " + wall + ", \"sum\": " + sum
                + ", \"begun_ns\": " + Arrays.toString(begun) + ", \"done_ns\": " + Arrays.toString(done) + "}";
    }

    private static Work work(String text) throws Misuse {
        List<String> parts = List.of(text.split(":", 2));
        if (parts.size() == 2) {
            String amount = parts.get(1);
            switch (parts.get(0)) {
                case "sleep":
                    int sleepMs = whole("sleep", amount, 0);
                    return task -> {
                        Thread.sleep(sleepMs);
                        return task;
                    };
                case "spin":
                    long spinNs = whole("spin", amount, 0) * NS_PER_MS;
                    return task -> {
                        long begun = System.nanoTime();
                        while (System.nanoTime() - begun < spinNs) {
                            // The purpose: keep the processor busy until the clock has moved.
                        }
                        return task;
                    };
                case "cpu":
                    long steps = whole("cpu", amount, 0, MOST_STEPS);
                    return task -> integerSteps(task + 1, steps);
                default:
                    break;
            }
        }
        throw new Misuse("work is sleep:MS, spin:MS or cpu:STEPS, not '" + text + "'");
    }

    /** The same steps as servers/work.py, begun at `x`; an unsigned number of 32 bits. */
    private static long integerSteps(int x, long steps) {
        for (long step = 0; step < steps; step++) {
            x = x * 1664525 + 1013904223;
            x ^= x >>> 17;
        }
        return Integer.toUnsignedLong(x);
    }

    private static Maker maker(String text) throws Misuse {
        switch (text) {
            // By reflection: compiled for Java 17, which does not have these.
            case "virtual":
                return () -> (ExecutorService)
                        Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            case "thread-each":
                return () -> (ExecutorService)
                        Executors.class
                                .getMethod("newThreadPerTaskExecutor", ThreadFactory.class)
                                .invoke(null, Executors.defaultThreadFactory());
            default:
                if (!text.startsWith("pool:")) {
                    throw new Misuse("executors are pool:THREADS, virtual and thread-each, not '" + text + "'");
                }
                int threads = whole("pool", text.substring("pool:".length()), 1);
                return () -> Executors.newFixedThreadPool(threads);
        }
    }

    private static int whole(String name, String text, int least) throws Misuse {
        return (int) whole(name, text, least, 999_999_999);
    }

    private static long whole(String name, String text, long least, long most) throws Misuse {
        if (text.matches("[0-9]{1,18}") && Long.parseLong(text) >= least && Long.parseLong(text) <= most) {
            return Long.parseLong(text);
        }
        throw new Misuse(name + " is a whole number from " + least + " to " + most + ", not '" + text + "'");
    }
}
