package loadrig;

import com.sun.management.GarbageCollectionNotificationInfo;
import java.lang.management.ManagementFactory;
import java.util.concurrent.TimeUnit;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** Tells of the pauses that garbage collection makes. */
final class Collections {
    /** Takes a pause's begin and end, ns of the monotonic clock. */
    interface Told {
        void pause(long beginNs, long endNs);
    }

    private Collections() {}

    /** Tells each pause from now on. The runtime has them to the millisecond. */
    static void tell(Told told) {
        // System.nanoTime is the monotonic clock here; the runtime's times are counted from its start.
        long startNs = System.nanoTime() - TimeUnit.MILLISECONDS.toNanos(ManagementFactory.getRuntimeMXBean().getUptime());
        for (var collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            // What runs beside the program is no pause: "G1 Concurrent GC", "ZGC Cycles".
            boolean pauses = !collector.getName().contains("Concurrent") && !collector.getName().contains("Cycles");
            if (pauses && collector instanceof NotificationEmitter emitter) {
                emitter.addNotificationListener(
                        (notification, handback) -> {
                            if (notification.getUserData() instanceof CompositeData data) {
                                var collection = GarbageCollectionNotificationInfo.from(data).getGcInfo();
                                told.pause(
                                        startNs + TimeUnit.MILLISECONDS.toNanos(collection.getStartTime()),
                                        startNs + TimeUnit.MILLISECONDS.toNanos(collection.getEndTime()));
                            }
                        },
                        notification -> GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION.equals(
                                notification.getType()),
                        null);
            }
        }
    }
}
