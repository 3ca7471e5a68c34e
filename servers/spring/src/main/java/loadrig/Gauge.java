package loadrig;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * How many requests are worked on: counters in the file that the starter made and reads. servers/stats.py tells its
 * form. Once around the work on a request: `try (var counted = gauge.enter())`.
 */
final class Gauge {
    private static final VarHandle FIELDS =
            MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
    private static final int IN_FLIGHT = 0;
    private static final int PEAK = 8;
    private static final int SERVED = 16;
    private static final int WORKERS = 24;
    private static final int LIMIT = 40;
    private static final int COLLECTED_NS = 56;
    private static final int COLLECTIONS = 64;
    private static final int RING = 128;
    private static final int RING_PLACES = 56;
    private static final int SIZE = 1024;
    private static final long LONG_NS = 1_000_000;
    private static final long NO_LIMIT = -1;

    private final ByteBuffer counters;

    private Gauge(ByteBuffer counters) {
        this.counters = counters;
    }

    /** The gauge on the file that LOADRIG_STATS names; without it, one of this process alone. */
    static Gauge fromEnvironment() {
        String name = System.getenv("LOADRIG_STATS");
        if (name == null || name.isEmpty()) {
            var alone = new Gauge(ByteBuffer.allocateDirect(SIZE + Long.BYTES).alignedSlice(Long.BYTES));
            FIELDS.setVolatile(alone.counters, LIMIT, NO_LIMIT);
            return alone;
        }
        try (var file = FileChannel.open(Path.of(name), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new Gauge(file.map(FileChannel.MapMode.READ_WRITE, 0, SIZE));
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    /** Counts this process as ready to serve, and notes its garbage collections from now on. */
    void announce() {
        add(WORKERS, 1);
        FIELDS.setVolatile(counters, COLLECTED_NS, 0L);
        Collections.tell(this::noteCollection);
    }

    /** Notes a pause for garbage collection, ns of the monotonic clock. */
    private synchronized void noteCollection(long beginNs, long endNs) {
        add(COLLECTED_NS, endNs - beginNs);
        if (endNs - beginNs < LONG_NS) {
            return;
        }
        int place = RING + 2 * Long.BYTES * (int) (read(COLLECTIONS) % RING_PLACES);
        FIELDS.setVolatile(counters, place, beginNs);
        FIELDS.setVolatile(counters, place + Long.BYTES, endNs);
        add(COLLECTIONS, 1); // last: a reader trusts what it counts
    }

    /** Counts a request until it is closed. */
    Counted enter() {
        long inFlight = add(IN_FLIGHT, 1) + 1;
        long peak = read(PEAK);
        while (peak < inFlight && !FIELDS.compareAndSet(counters, PEAK, peak, inFlight)) {
            peak = read(PEAK);
        }
        return () -> {
            add(IN_FLIGHT, -1);
            add(SERVED, 1);
        };
    }

    /** The counters as /stats gives them. */
    String document() {
        long limit = read(LIMIT);
        return "{\"in_flight\": " + read(IN_FLIGHT) + ", \"peak\": " + read(PEAK) + ", \"served\": " + read(SERVED)
                + ", \"workers\": " + read(WORKERS) + ", \"limit\": " + (limit == NO_LIMIT ? "null" : limit) + "}";
    }

    private long read(int field) {
        return (long) FIELDS.getVolatile(counters, field);
    }

    private long add(int field, long amount) {
        return (long) FIELDS.getAndAdd(counters, field, amount);
    }

    /** A request that is counted. */
    interface Counted extends AutoCloseable {
        @Override
        void close();
    }
}
